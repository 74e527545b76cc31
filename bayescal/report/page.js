"use strict";
// A click on the title of a column sorts by it: upwards, downwards, then as written.
function value(row, column) {
  const text = row.cells[column].textContent;
  const number = /^([<>]?) ?(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?: to .*)?$/.exec(text);
  if (!number) return text;
  return Number(number[2]) + { "": 0, "<": -1e-9, ">": 1e-9 }[number[1]];
}
function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return a.localeCompare(b, "en", { numeric: true });
}
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const written = Array.from(body.rows);
  const titles = Array.from(table.tHead.rows[0].cells);
  titles.forEach((title, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title.textContent;
    title.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: "none" }[title.getAttribute("aria-sort")] || "ascending";
      titles.forEach((other) => other.removeAttribute("aria-sort"));
      if (next !== "none") title.setAttribute("aria-sort", next);
      const missing = (row) => ["-", ""].includes(row.cells[column].textContent);
      const sign = next === "descending" ? -1 : 1;
      const sorted = next === "none" ? written : written.slice().sort((a, b) =>
        missing(a) - missing(b) || sign * compare(value(a, column), value(b, column)));
      body.append(...sorted);
    });
  });
}
