"use strict";
// Tables that can be sorted, and lists and tables that can be filtered.
window.vwta = window.vwta || {};

vwta.tables = (() => {
  const collator = new Intl.Collator("en", { numeric: true });

  /** What a cell is sorted by: its value, or else its text. */
  function valueOf(row, column) {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    return value === undefined ? cell.textContent : value;
  }

  /** Order of two values; what is empty comes last, whichever way. */
  function compare(a, b, sign) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
    return sign * collator.compare(a, b);
  }

  function sort(table, column) {
    const head = table.tHead.rows[0].cells[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const values = new Map(rows.map((row) => [row, valueOf(row, column)]));
    rows.sort((a, b) => compare(values.get(a), values.get(b), down ? -1 : 1));
    body.append(...rows);
  }

  /** A line whose first cell is empty belongs to the line above: say so before lines move. */
  function complete(table) {
    let above = "";
    for (const row of table.tBodies[0].rows) {
      const first = row.cells[0];
      if (first.textContent.trim()) above = first.textContent;
      else first.textContent = above;
    }
  }

  function makeSortable(table) {
    const heads = table.tHead.rows[0].cells;
    for (let column = 0; column < heads.length; column += 1) {
      const button = heads[column].querySelector("button");
      if (!button) continue;
      button.addEventListener("click", () => {
        if (table.classList.contains("sheet")) complete(table);
        sort(table, column);
      });
    }
  }

  function filter(form) {
    const holder = document.getElementById(form.dataset.for);
    const items = holder.tagName === "TABLE" ? holder.tBodies[0].rows : holder.children;
    const wanted = [...form.querySelectorAll("[data-filter]")]
      .map((field) => [field.dataset.filter, field.value.trim()])
      .filter(([, value]) => value);
    let shown = 0;
    for (const item of items) {
      const fits = wanted.every(([key, value]) =>
        key === "text"
          ? value.toLowerCase().split(/\s+/).every((word) => item.textContent.toLowerCase().includes(word))
          : item.dataset[key] === value);
      item.hidden = !fits;
      shown += fits;
    }
    form.querySelector(".shown").textContent = `${shown} of ${items.length} shown`;
  }

  function start() {
    document.querySelectorAll("table.sortable, table.sheet").forEach(makeSortable);
    for (const form of document.querySelectorAll("form.filters")) {
      form.addEventListener("input", () => filter(form));
      form.addEventListener("submit", (event) => event.preventDefault());
      form.addEventListener("reset", () => setTimeout(() => filter(form)));
      filter(form);
    }
  }

  return { start };
})();
