// Lines that belong together light up together; a click keeps them lit, and brings the other side into view.
for (const panes of document.querySelectorAll(".panes")) {
  let kept = "";
  const light = (line) => {
    for (const each of panes.querySelectorAll(".lit")) each.classList.remove("lit");
    if (line) for (const each of panes.querySelectorAll(`[data-line="${line}"]`)) each.classList.add("lit");
  };
  const lineOf = (event) => event.target.closest("[data-line]")?.dataset.line ?? "";
  panes.addEventListener("mouseover", (event) => light(lineOf(event) || kept));
  panes.addEventListener("mouseleave", () => light(kept));
  panes.addEventListener("focusin", (event) => light(lineOf(event) || kept));
  panes.addEventListener("click", (event) => {
    const line = lineOf(event);
    if (!line || window.getSelection().toString()) return;
    event.preventDefault();
    kept = kept === line ? "" : line;
    light(kept);
    const here = event.target.closest(".code");
    for (const other of panes.querySelectorAll(".code")) {
      const first = other.querySelector(`[data-line="${line}"]`);
      if (other !== here && first && kept) {
        other.scrollTop += first.getBoundingClientRect().top - other.getBoundingClientRect().top - 60;
      }
    }
  });
}
