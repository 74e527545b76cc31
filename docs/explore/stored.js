"use strict";
// The stored test sets: arrays of small integers, written in base64 by docs/make/explore.py.

/** The integers of an array that takes `bytes` bytes for each. */
function unpacked(text, bytes) {
  const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return bytes === 2 ? Uint16Array.from({ length: raw.length / 2 }, (_, i) => raw[2 * i] + 256 * raw[2 * i + 1]) : raw;
}

/** The setting with a number of rows and a temperature. */
function settingOf(rows, temperature) {
  return STORED.settings.find((each) => each.rows === rows && each.temperature === temperature);
}

/** Whether the intervals of all test sets contain the truth: one record per test set. */
function contained(part) {
  return Array.from(unpacked(part.contains, 1), (bits) => ({ bootstrap: (bits & 1) > 0, posterior: (bits & 2) > 0 }));
}

/** The values of the ECE of one test set, and the dots of its posterior. */
function resultOf(numbers, places, contains) {
  const ece = Object.fromEntries(STORED.columns.map((name, i) => [name, numbers[i] * STORED.unit]));
  const [low, high] = [ece.posterior_low, ece.posterior_high];
  return {
    plugIn: ece.plug_in,
    bootstrap: { low: ece.bootstrap_low, high: ece.bootstrap_high, contains: contains.bootstrap },
    posterior: { low, high, contains: contains.posterior, mean: ece.posterior_mean },
    dots: Array.from(places, (place) => low + ((high - low) * place) / 255),
  };
}

/** The results of all test sets of a setting in a number of bins, and the true ECE. */
function resultsOf(setting, bins) {
  const part = setting.by_bins[bins];
  const ece = unpacked(part.ece, 2);
  const dots = unpacked(part.dots, 1);
  const width = STORED.columns.length;
  const results = contained(part).map((contains, i) =>
    resultOf(ece.subarray(i * width, (i + 1) * width), dots.subarray(i * STORED.dots, (i + 1) * STORED.dots), contains),
  );
  return { truth: part.truth, results };
}

/** The rows of one test set in a number of bins: numbers of rows and of positive rows, and mean confidences. */
function binsOf(setting, bins, index) {
  const finest = STORED.bins[STORED.bins.length - 1];
  const counts = setting.counts ? unpacked(setting.counts, 1) : unpacked(setting.large_counts, 2);
  const places = unpacked(setting.confidence, 1);
  const merged = Array.from({ length: bins }, () => ({ n: 0, k: 0, summed: 0 }));
  for (let i = 0; i < finest; i++) {
    const into = merged[Math.floor((i * bins) / finest)];
    const n = counts[2 * index * finest + i];
    into.n += n;
    into.k += counts[(2 * index + 1) * finest + i];
    into.summed += (n * (i + places[index * finest + i] / 255)) / finest;
  }
  return merged.filter((bin) => bin.n > 0).map(({ n, k, summed }) => ({ n, k, confidence: summed / n }));
}

/** The smallest and the largest share of intervals that contain the truth, over all settings. */
function rangeOfShares(method) {
  const shares = STORED.settings.flatMap((setting) =>
    Object.values(setting.by_bins).map((part) => {
      const all = contained(part);
      return all.filter((each) => each[method]).length / all.length;
    }),
  );
  return [Math.min(...shares), Math.max(...shares)];
}

/** Wilson's 95 % interval of a share. */
function wilson(hits, total) {
  const z = 1.959964;
  const centre = (hits + (z * z) / 2) / (total + z * z);
  const half = (z / (total + z * z)) * Math.sqrt((hits * (total - hits)) / total + (z * z) / 4);
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}
