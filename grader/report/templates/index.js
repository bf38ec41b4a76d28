const table = document.getElementById("all");
const body = table.tBodies[0];
const rows = [...body.rows];
const search = document.getElementById("search");
const shown = document.getElementById("shown");
const heads = [...table.tHead.rows[0].cells];
const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function value(row, column) {
  const cell = row.cells[column];
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
}

heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
  const down = head.getAttribute("aria-sort") === (column ? "descending" : "ascending") ? !column : !!column;
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  rows.sort((left, right) => {
    const [a, b] = [value(left, column), value(right, column)];
    const found = typeof a === "number" ? a - b : order.compare(a, b);
    return down ? -found : found;
  });
  body.append(...rows);
}));

if (search) {
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    let count = 0;
    rows.forEach((row) => {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      count += !row.hidden;
    });
    shown.textContent = wanted ? `${count} of ${rows.length}` : "";
  });
}
