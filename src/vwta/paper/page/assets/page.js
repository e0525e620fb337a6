"use strict";
// Colours, enlarged figures, what stands behind a number; and the start of everything.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  /** An element with text or elements in it. */
  function make(name, ...content) {
    const found = document.createElement(name);
    found.append(...content);
    return found;
  }

  // Colours: as the system has them, unless the reader chooses.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = {
    get() { try { return localStorage.getItem("vwta-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("vwta-theme", value); } catch { /* a reader's choice of privacy */ } },
  };
  let choice = kept.get() || "system";

  function paint() {
    const theme = choice === "system" ? (system.matches ? "dark" : "light") : choice;
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    button.querySelector(".long").textContent = `Colours: ${choice}`;
    button.setAttribute("aria-label", `Colours: ${choice}. Press to change`);
    document.dispatchEvent(new Event("theme"));
  }

  function startTheme() {
    const turns = { system: "dark", dark: "light", light: "system" };
    document.getElementById("theme").addEventListener("click", () => {
      choice = turns[choice];
      kept.set(choice);
      paint();
    });
    system.addEventListener("change", paint);
    paint();
  }

  // Figures, enlarged.
  function startViewer() {
    const viewer = document.getElementById("viewer");
    const image = document.getElementById("viewer-image");
    const title = document.getElementById("viewer-title");
    const figures = [...document.querySelectorAll("button.zoom")];
    let at = 0;
    let scale = 1;

    function show(place) {
      at = (place + figures.length) % figures.length;
      const source = figures[at].querySelector("img");
      image.src = source.src;
      image.alt = source.alt;
      title.textContent = source.alt;
      resize(1);
    }
    function resize(to) {
      scale = Math.min(8, Math.max(0.5, to));
      image.style.width = `${100 * scale}%`;
      image.style.maxHeight = scale === 1 ? "100%" : "none";
      image.style.objectFit = "contain";
    }
    const actions = {
      previous: () => show(at - 1),
      next: () => show(at + 1),
      smaller: () => resize(scale / 1.5),
      larger: () => resize(scale * 1.5),
    };
    const keys = { ArrowLeft: "previous", ArrowRight: "next", "+": "larger", "=": "larger", "-": "smaller" };
    figures.forEach((button, place) => button.addEventListener("click", () => {
      show(place);
      viewer.showModal();
    }));
    viewer.addEventListener("click", (event) => actions[event.target.dataset.do]?.());
    viewer.addEventListener("keydown", (event) => {
      if (scale !== 1 && event.key.startsWith("Arrow")) return; // the picture is scrolled
      actions[keys[event.key]]?.();
    });
    image.addEventListener("click", () => resize(scale === 1 ? 2 : 1));
    viewer.addEventListener("close", () => figures[at].focus());
  }

  // Why a number has its verdict, and where it comes from.
  function list(entries) {
    const dl = make("dl");
    dl.className = "about";
    for (const [key, value] of entries) {
      if (value === null || value === undefined || value === "") continue;
      dl.append(make("div", make("dt", key), make("dd", String(value))));
    }
    return dl;
  }

  const round = (value) => (typeof value === "number" ? Number(value.toPrecision(4)) : value);
  const interval = (low, high) => (low === null ? "" : `${round(low)} to ${round(high)}`);

  /** Parts of tables that a number is from: of its own protocol, or else of the one it borrows from. */
  function origins(row, details) {
    const fits = (part, protocol) => part.study === row.study
      && (!part.dataset || part.dataset.includes(details.measured_on || row.dataset))
      && (!part.metrics.length || part.metrics.includes(row.metric))
      && (!part.protocol || part.protocol.includes(protocol));
    for (const protocol of [row.protocol, data.headline]) {
      const found = data.parts.filter((part) => fits(part, protocol));
      if (found.length) return found;
    }
    return [];
  }

  function tell(part) {
    const box = make("details", make("summary", `${part.study}/${part.table}: ${part.file}`));
    const trained = part.trained;
    box.append(list([
      ["Made", part.made], ["Revision", part.revision], ["Digest of the code", part.code],
      ["Hash of the data", typeof part.data === "object" ? JSON.stringify(part.data) : part.data],
      ["Seeds", part.seed?.join(", ")], ["Splits", part.split?.join(", ")],
      ["Processor", part.processor], ["Accelerator", part.accelerator], ["CPU seconds", part.cpu_seconds],
      ["Python", part.python], ["Packages", part.packages],
      ["Trainings", part.trainings || ""], ["Revisions of trainings", trained.revision.join(", ")],
      ["Digests of their code", trained.code.join(", ")],
      ["Their processors", trained.processor.join(", ")],
      ["Trained", trained.made.length ? `${trained.made[0]} to ${trained.made.at(-1)}` : ""],
    ]));
    return box;
  }

  function startReasons() {
    const dialog = document.getElementById("reasons");
    document.getElementById("number-table").addEventListener("click", (event) => {
      const button = event.target.closest("button.why");
      if (!button) return;
      const values = data.numbers[Number(button.dataset.row)];
      const details = Object.fromEntries(data.details.map((name, place) => [name, values[place]]));
      const row = button.closest("tr");
      document.getElementById("reasons-title").textContent = `${details.id}, protocol ${row.dataset.protocol}`;
      const chip = row.cells[0].firstElementChild.cloneNode(true);
      const [printed, ours] = [".printed", ".ours"].map((name) => row.querySelector(name).textContent);
      const text = document.getElementById("reasons-text");
      text.replaceChildren(chip, list([
        ["Paper", `${printed} (${details.source})`], ["Its interval", interval(details.printed_low, details.printed_high)],
        ["Its runs", details.printed_runs],
        ["Ours", ours], ["Our interval", interval(details.low, details.high)],
        ["Our runs", details.runs], ["Allowed difference", round(details.margin)], ["Rule", details.rule],
        ["By standard errors", details.strict],
        ["On a larger test set", details.verdict_large && `${round(details.ours_large)}: ${details.verdict_large}`],
        ["Reason", details.reason], ["Remark", details.remark],
      ]));
      const found = ours === "–" ? [] : origins(row.dataset, details);
      if (found.length) text.append(make("h3", "Where it comes from"), ...found.map(tell));
      dialog.showModal();
    });
  }

  function startCommands() {
    for (const code of document.querySelectorAll("code.command")) {
      const button = make("button", "copy");
      button.type = "button";
      button.className = "copy";
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(code.textContent);
          button.textContent = "copied";
        } catch {
          getSelection().selectAllChildren(code);
          button.textContent = "selected";
        }
      });
      code.after(button);
    }
  }

  for (const button of document.querySelectorAll('dialog [data-do="close"]')) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; });
  addEventListener("afterprint", paint);
  startTheme();
  startViewer();
  startReasons();
  startCommands();
  vwta.tables.start();
  vwta.explorer?.start(data);
})();
