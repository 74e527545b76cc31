"use strict";
// The figures, drawn as SVG in the pixels of their place on the page.

/** Append an element to a figure, with attributes and a text. */
function add(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return parent.appendChild(element);
}

function line(parent, kind, x1, y1, x2, y2, more = {}) {
  return add(parent, "line", { class: kind, x1, y1, x2, y2, ...more });
}

/** Empty a figure and set its height; returns its width. */
function cleared(svg, height) {
  const width = svg.getBoundingClientRect().width;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.height = `${height}px`;
  return width;
}

/** A function from values in [0, most] to pixels. */
function scale(most, from, to) {
  return (value) => from + ((to - from) * value) / most;
}

/** Round values from 0 to at least `most`, about `count` of them. */
function ticks(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

const kindOf = (interval) => (interval.contains ? "contains" : "misses");

/** Both intervals of one test set as horizontal bars, with a line at the true ECE. */
function drawIntervals(svg, result, truth, most) {
  const width = cleared(svg, 236);
  const marks = ticks(most, width < 420 ? 4 : 7);
  const x = scale(marks[marks.length - 1], 8, width - 14);
  const bottom = 190;
  for (const mark of marks) {
    line(svg, "axis", x(mark), 24, x(mark), bottom + 5);
    add(svg, "text", { class: "quiet", x: x(mark), y: bottom + 20, "text-anchor": "middle" }, String(mark));
  }
  add(svg, "text", { class: "quiet", x: width / 2, y: bottom + 38, "text-anchor": "middle" }, "Expected Calibration Error");
  drawTruth(svg, x(truth), truth, width, bottom);
  drawBar(svg, x, 46, "bootstrap", result.bootstrap, result.plugIn, width);
  drawBar(svg, x, 152, "posterior", result.posterior, result.posterior.mean, width);
  drawDots(svg, x, 144, result);
}

function drawTruth(svg, at, truth, width, bottom) {
  line(svg, "truth", at, 18, at, bottom + 5);
  const anchor = at < 60 ? "start" : at > width - 60 ? "end" : "middle";
  add(svg, "text", { x: at, y: 13, "text-anchor": anchor, "font-weight": 600 }, `true ECE ${shown(truth)}`);
}

function drawBar(svg, x, y, name, interval, point, width) {
  line(svg, `interval ${kindOf(interval)}`, x(interval.low), y, x(interval.high), y, { "stroke-width": 10 });
  add(svg, "circle", { class: "point", cx: x(point), cy: y, r: 5 });
  const text = `${name} ${interval.contains ? "contains" : "misses"} the truth`;
  const room = 4 * text.length; // half of its width
  const middle = Math.min(Math.max((x(interval.low) + x(interval.high)) / 2, room + 8), width - room);
  add(svg, "text", { class: `name ${kindOf(interval)}`, x: middle, y: y + 22, "text-anchor": "middle" }, text);
}

/** The posterior as a quantile dot plot: equal dots, stacked in columns. */
function drawDots(svg, x, base, result) {
  const radius = 3.5;
  const columns = new Map();
  for (const dot of result.dots) {
    const column = Math.round((x(dot) - x(0)) / (2 * radius));
    columns.set(column, (columns.get(column) ?? 0) + 1);
  }
  const step = Math.min(2 * radius, 56 / Math.max(...columns.values()));
  for (const [column, count] of columns) {
    for (let i = 0; i < count; i++) {
      const cx = x(0) + 2 * radius * column;
      add(svg, "circle", { class: `dot ${kindOf(result.posterior)}`, cx, cy: base - step * (i + 0.5), r: step / 2 });
    }
  }
}

/** A share between 0 and 1 with its interval, and a mark at the nominal probability. */
function drawShare(svg, share, [low, high]) {
  const width = cleared(svg, 40);
  const x = scale(1, 14, width - 18);
  line(svg, "axis", x(0), 14, x(1), 14);
  for (const mark of [0, 0.5, STORED.prob]) {
    line(svg, mark === STORED.prob ? "truth" : "axis", x(mark), 6, x(mark), 22);
    add(svg, "text", { class: "quiet", x: x(mark), y: 36, "text-anchor": "middle" }, percent(mark));
  }
  line(svg, "whisker", x(low), 14, x(high), 14);
  add(svg, "circle", { class: "point", cx: x(share), cy: 14, r: 6 });
}

/** The intervals of the last test sets as vertical lines, with a horizontal line at the true ECE. */
function drawHistory(svg, intervals, truth, most, places) {
  const height = 120;
  const width = cleared(svg, height);
  const y = scale(most, height - 14, 6);
  const left = 40;
  const step = (width - left) / places;
  for (const mark of ticks(most, 2).filter((each) => each <= most)) {
    line(svg, "axis", left, y(mark), width, y(mark));
    add(svg, "text", { class: "quiet", x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, String(mark));
  }
  intervals.forEach((interval, i) => {
    const at = left + (i + 0.5) * step;
    const ends = [y(interval.low), Math.min(y(interval.high), y(interval.low) - 1)];
    line(svg, `interval ${kindOf(interval)}`, at, ends[0], at, ends[1], { "stroke-width": 0.6 * step });
    if (!interval.contains) drawCross(svg, at, height - 5, Math.min(3, 0.4 * step));
  });
  line(svg, "truth", left, y(truth), width, y(truth));
}

function drawCross(svg, x, y, half) {
  line(svg, "cross", x - half, y - half, x + half, y + half);
  line(svg, "cross", x - half, y + half, x + half, y - half);
}

/** Share of positive rows against mean confidence, bin by bin. */
function drawReliability(svg, bins, temperature) {
  const size = Math.min(svg.getBoundingClientRect().width, 420);
  cleared(svg, size);
  const x = scale(1, 54, size - 12);
  const y = scale(1, size - 44, 12);
  for (const mark of [0, 0.25, 0.5, 0.75, 1]) {
    line(svg, "axis", x(mark), y(0), x(mark), y(1));
    line(svg, "axis", x(0), y(mark), x(1), y(mark));
    add(svg, "text", { class: "quiet", x: x(mark), y: y(0) + 18, "text-anchor": "middle" }, String(mark));
    add(svg, "text", { class: "quiet", x: x(0) - 6, y: y(mark) + 4, "text-anchor": "end" }, String(mark));
  }
  add(svg, "text", { class: "quiet", x: x(0.5), y: size - 6, "text-anchor": "middle" }, "stated probability");
  const up = { class: "quiet", transform: `translate(10 ${y(0.5)}) rotate(-90)`, "text-anchor": "middle" };
  add(svg, "text", up, "share of outcome 1");
  line(svg, "perfect", x(0), y(0), x(1), y(1));
  add(svg, "path", { class: "curve", d: pathOf(temperature, x, y) });
  const total = bins.reduce((sum, bin) => sum + bin.n, 0);
  for (const bin of bins) drawBin(svg, bin, Math.sqrt(bin.n / total), x, y);
}

function drawBin(svg, { n, k, confidence }, root, x, y) {
  const at = x(confidence);
  line(svg, "gap", at, y(confidence), at, y(k / n));
  const circle = add(svg, "circle", { class: "bin", cx: at, cy: y(k / n), r: Math.max(2, 26 * root) });
  add(circle, "title", {}, `${k} of ${n} rows have outcome 1, mean stated probability ${confidence.toFixed(3)}`);
}

/** The true probability of outcome 1 at each stated probability. */
function pathOf(temperature, x, y) {
  const points = Array.from({ length: 101 }, (_, i) => {
    const p = i / 100;
    const odds = (p / (1 - p)) ** (1 / temperature);
    return `${x(p).toFixed(1)},${y(p === 1 ? 1 : odds / (1 + odds)).toFixed(1)}`;
  });
  return `M${points.join("L")}`;
}
