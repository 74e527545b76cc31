"use strict";
// The page: sliders, buttons, sentences, and which test sets have been drawn.

const SLIDERS = { temperature: STORED.temperatures, rows: STORED.rows, bins: STORED.bins };
const MANY = 100;
const METHODS = ["bootstrap", "posterior"];
const byId = (id) => document.getElementById(id);

/** Settings of the sliders, the order in which test sets are drawn, and how many of them have been drawn. */
const state = { temperature: 1, rows: 1000, bins: 15, order: [], drawn: 0, frame: 0 };
let random = Math.random;

// words

/** Whole percent, or one decimal where 0 % or 100 % would be wrong. */
function percent(share) {
  const rounds = (share < 0.005 && share > 1e-6) || (share >= 0.995 && share < 1 - 1e-6);
  return `${(100 * share).toFixed(rounds ? 1 : 0)}\u00a0%`;
}

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");

const shown = (value, decimals = 3) => (value === 0 ? "0" : value.toFixed(decimals));

/** The smallest number of decimals with which rounded values are on the right side of the truth. */
function decimalsFor(values, truth) {
  const side = (value, decimals) => Math.sign(value.toFixed(decimals) - truth.toFixed(decimals));
  return [3, 4].find((decimals) => values.every((value) => side(value, decimals) === side(value, 6))) ?? 5;
}

function words(name, value) {
  if (name !== "temperature") return grouped(value);
  const kind = value === 1 ? "calibrated" : value > 1 ? "over-confident" : "under-confident";
  return `${value} (${kind})`;
}

// drawing test sets

/** A random order of all test sets of a setting, which begins with `first` if that is given. */
function shuffled(first) {
  const order = Array.from({ length: STORED.sets }, (_, i) => i);
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return first === undefined ? order : [first, ...order.filter((each) => each !== first)];
}

/** Begin a new series with one test set. */
function restart(first) {
  cancelAnimationFrame(state.frame);
  state.order = shuffled(first);
  state.drawn = 1;
  show();
}

/** Draw more test sets, a few in each frame unless the reader prefers less motion. */
function draw(count) {
  cancelAnimationFrame(state.frame);
  const target = Math.min(state.drawn + count, STORED.sets);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const next = () => {
    state.drawn = still ? target : Math.min(state.drawn + 2, target);
    show(state.drawn < target);
    if (state.drawn < target) state.frame = requestAnimationFrame(next);
  };
  if (count === 1) state.drawn = target - 1;
  next();
}

// showing them

/** Show the last test set and all drawn so far; sentences wait until the last one of many. */
function show(moving = false) {
  const setting = settingOf(state.rows, state.temperature);
  const { truth, results } = resultsOf(setting, state.bins);
  const drawn = state.order.slice(0, state.drawn);
  const last = drawn[drawn.length - 1];
  const most = Math.max(truth, ...results.flatMap(({ bootstrap, posterior }) => [bootstrap.high, posterior.high]));
  const seen = drawn.map((index) => results[index]);
  byId("tally").dataset.drawn = drawn.join(" ");
  drawIntervals(byId("intervals-figure"), results[last], truth, most);
  drawReliability(byId("reliability-figure"), binsOf(setting, state.bins, last), state.temperature);
  for (const method of METHODS) showMethod(method, seen.map((each) => each[method]), truth, most);
  showControls();
  if (!moving) showResult(results[last], truth, seen);
}

function showMethod(method, intervals, truth, most) {
  const hits = intervals.filter((each) => each.contains).length;
  const range = wilson(hits, intervals.length);
  const [low, high] = range.map(percent);
  byId(`${method}-share`).textContent = `${hits} of ${intervals.length} contain the truth`;
  byId(`${method}-percent`).textContent = `${percent(hits / intervals.length)}, 95 % interval ${low} to ${high}`;
  drawShare(byId(`${method}-bar`), hits / intervals.length, range);
  drawHistory(byId(`${method}-history`), intervals.slice(-MANY), truth, most, MANY);
}

function showControls() {
  for (const [name, values] of Object.entries(SLIDERS)) {
    const text = words(name, state[name]);
    byId(name).value = values.indexOf(state[name]);
    byId(name).setAttribute("aria-valuetext", text);
    byId(`${name}-value`).textContent = text;
  }
  const left = STORED.sets - state.drawn;
  const drawing = ["draw", "draw-many"].includes(document.activeElement.id);
  if (left === 0 && drawing) byId("restart").focus(); // a disabled button would lose the focus
  byId("draw").disabled = byId("draw-many").disabled = left === 0;
  byId("left").textContent = left
    ? `${left} of ${STORED.sets} stored test sets are left.`
    : `All ${STORED.sets} stored test sets of this setting have been drawn.`;
}

function showResult(result, truth, seen) {
  const decimals = decimalsFor(METHODS.flatMap((method) => [result[method].low, result[method].high]), truth);
  const number = (value) => shown(value, decimals);
  const parts = [
    truth === 0 ? "This classifier is perfectly calibrated: its true ECE is 0." : `The true ECE is ${number(truth)}.`,
    ` In this test set the plug-in ECE is ${number(result.plugIn)}.`,
    ...METHODS.flatMap((method) => sentence(method, result[method], number)),
    seen.length === 1 ? "" : ` ${totals(seen)}`,
  ];
  byId("result").replaceChildren(...parts);
}

function sentence(method, interval, number) {
  const verdict = document.createElement("span");
  verdict.className = kindOf(interval);
  verdict.textContent = `${interval.contains ? "contains" : "misses"} the truth`;
  return [` The ${method} interval, ${number(interval.low)} to ${number(interval.high)}, `, verdict, "."];
}

function totals(seen) {
  const [bootstrap, posterior] = METHODS.map((method) => seen.filter((each) => each[method].contains).length);
  return `Of ${seen.length} test sets, ${bootstrap} bootstrap and ${posterior} posterior intervals contain the truth.`;
}

function showStored() {
  for (const place of document.querySelectorAll("[data-stored]")) place.textContent = STORED[place.dataset.stored];
  const [bootstrap, posterior] = METHODS.map((method) => rangeOfShares(method).map(percent).join(" to "));
  const count = STORED.settings.length * STORED.bins.length;
  byId("overall").textContent =
    `Over the ${count} positions of the sliders, the share of stored intervals that contain the truth is ` +
    `${bootstrap} for the bootstrap and ${posterior} for the posterior.`;
}

// the reader

/** Make a generator of random numbers from a seed (mulberry32). */
function seeded(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Settings from the address, as in index.html#temperature=1.1&rows=3000&bins=10&draws=50&seed=1. */
function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const [name, values] of Object.entries(SLIDERS)) {
    if (values.includes(Number(asked.get(name)))) state[name] = Number(asked.get(name));
  }
  if (asked.has("seed")) random = seeded(Number(asked.get("seed")));
  return Math.max(1, Math.min(Number(asked.get("draws")) || 1, STORED.sets));
}

function moved(name) {
  const last = state.order[state.drawn - 1];
  state[name] = SLIDERS[name][byId(name).value];
  restart(name === "bins" ? last : undefined);
}

function start() {
  for (const [name, values] of Object.entries(SLIDERS)) {
    Object.assign(byId(name), { min: 0, max: values.length - 1, step: 1 });
    byId(name).addEventListener("input", () => moved(name));
  }
  byId("draw").addEventListener("click", () => draw(1));
  byId("draw-many").addEventListener("click", () => draw(MANY));
  byId("restart").addEventListener("click", () => restart());
  byId("documentation").hidden = location.protocol === "file:";
  const draws = readAddress();
  restart();
  state.drawn = draws;
  show();
  showStored();
  new ResizeObserver(() => show(true)).observe(byId("intervals"));
}

start();
