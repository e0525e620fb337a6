"use strict";
// The explorer: densities of trained networks, drawn from what they predict.
window.vwta = window.vwta || {};

vwta.explorer = (() => {
  const GRID = 200; // squares along each side of the picture of a density
  const QUANTILE = 0.995; // of the density, at which colours end
  const METHODS = {
    v_wta: { model: "wta", cut: true, h: true },
    k_wta: { model: "wta", h: true },
    unif_v_wta: { model: "wta", cut: true },
    tk_hist: { model: "hist", cut: true, h: true },
    unif_hist: { model: "hist", cut: true },
    mdn: { model: "mdn" },
  };
  const RAMPS = {
    light: [[255, 255, 255], [205, 227, 245], [130, 186, 228], [62, 138, 201]],
    dark: [[20, 24, 29], [16, 52, 86], [26, 88, 142], [54, 136, 200]],
  };
  const GREEN = { light: "#005c3f", dark: "#6ff0bd" };
  const INK = { light: "#1b1f24", dark: "#e6e9ed" };

  let store; // tensors by name: shape and values
  let facts;
  let titles;
  let form;
  const panels = [];

  /** Tensors of a file in the format safetensors, all in float32. */
  function read(text) {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    const found = {};
    const { __metadata__: metadata, ...entries } = header;
    for (const [name, { dtype, shape, data_offsets: [first, last] }] of Object.entries(entries)) {
      if (dtype !== "F32") throw new Error(`${name} is ${dtype}, not F32`);
      const part = bytes.slice(8 + length + first, 8 + length + last);
      found[name] = { shape, values: new Float32Array(part.buffer) };
    }
    return { tensors: found, metadata };
  }

  /** Row `at` of a tensor, as a list of points or of numbers. */
  function row(tensor, at, pairs) {
    const dims = pairs ? 3 : 2;
    const shared = tensor.shape.length < dims; // the same for every input
    const size = tensor.shape.slice(shared ? 0 : 1).reduce((a, b) => a * b, 1);
    const values = Array.from(tensor.values.subarray(shared ? 0 : at * size, shared ? size : (at + 1) * size));
    if (!pairs) return values;
    return Array.from({ length: size / 2 }, (_, i) => [values[2 * i], values[2 * i + 1]]);
  }

  function folder(method, { protocol, dataset, K }) {
    return `${protocol}/${dataset}/${METHODS[method].model}/K${K}`;
  }

  /** The network of a method: of the protocol, or else of any that has one, as other models are shared. */
  function networkOf(method, chosen) {
    const names = [chosen.protocol, ...protocols()].map((protocol) => folder(method, { ...chosen, protocol }));
    return names.find((name) => store[`${name}/masses`]);
  }

  /** The density of a method, with its atoms; null if there is no such network. */
  function law(method, chosen) {
    const name = networkOf(method, chosen);
    if (!name) return null;
    const { cut, h } = METHODS[method];
    const points = row(store[`${name}/points`], chosen.x, true);
    const masses = row(store[`${name}/masses`], chosen.x, false);
    const scales = store[`${name}/scales`]
      ? row(store[`${name}/scales`], chosen.x, false)
      : masses.map(() => (h ? chosen.h : Infinity));
    return { points, masses, ...vwta.geometry.density(points, masses, scales, cut ? facts.domain : null) };
  }

  const names = (place) => [...new Set(
    Object.keys(store).filter((name) => name.endsWith("/masses")).map((name) => name.split("/")[place]),
  )];
  const protocols = () => names(0);

  function chosen() {
    const fields = form.elements;
    return {
      dataset: fields.dataset.value,
      protocol: fields.protocol.value,
      K: Number(fields.K.value),
      x: Number(fields.x.value),
      h: Number(Math.exp(Number(fields.h.value)).toPrecision(3)),
    };
  }

  const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

  /** Colour of a part of the scale; the root makes low densities visible. */
  function colour(part) {
    const ramp = RAMPS[theme()];
    const at = Math.sqrt(Math.min(1, Math.max(0, part))) * (ramp.length - 1);
    const i = Math.min(ramp.length - 2, Math.floor(at));
    return ramp[i].map((from, c) => from + (at - i) * (ramp[i + 1][c] - from));
  }

  /** Density in the middles of squares, from the top left on. */
  function values(one) {
    const { low, high } = facts.domain;
    const found = new Float64Array(GRID * GRID);
    for (let i = 0; i < GRID; i += 1) {
      const y = high[1] - ((i + 0.5) / GRID) * (high[1] - low[1]);
      for (let j = 0; j < GRID; j += 1) {
        found[i * GRID + j] = Math.exp(one.log(low[0] + ((j + 0.5) / GRID) * (high[0] - low[0]), y));
      }
    }
    return found;
  }

  function quantile(found) {
    const sorted = Float64Array.from(found).sort();
    return sorted[Math.floor(QUANTILE * (sorted.length - 1))];
  }

  function paintDensity(context, found, top) {
    const picture = new ImageData(GRID, GRID);
    const table = Array.from({ length: 1025 }, (_, i) => colour(i / 1024));
    for (let i = 0; i < found.length; i += 1) {
      const [r, g, b] = table[Math.round(1024 * Math.min(1, found[i] / top))];
      picture.data.set([r, g, b, 255], 4 * i);
    }
    const small = document.createElement("canvas");
    small.width = GRID;
    small.height = GRID;
    small.getContext("2d").putImageData(picture, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, context.canvas.width, context.canvas.height);
  }

  /** From the plane to the canvas. */
  function placer(canvas) {
    const { low, high } = facts.domain;
    return ([x, y]) => [
      ((x - low[0]) / (high[0] - low[0])) * canvas.width,
      ((high[1] - y) / (high[1] - low[1])) * canvas.height,
    ];
  }

  function paintLaw(context, one, targets) {
    const at = placer(context.canvas);
    const fields = form.elements;
    if (fields.cells.checked && one.cells) {
      context.strokeStyle = INK[theme()];
      context.lineWidth = 1;
      for (const polygon of one.cells) {
        if (!polygon) continue;
        context.beginPath();
        polygon.forEach((p, i) => context[i ? "lineTo" : "moveTo"](...at(p)));
        context.closePath();
        context.stroke();
      }
    }
    if (fields.targets.checked) {
      context.fillStyle = GREEN[theme()];
      for (const point of targets) {
        context.beginPath();
        context.arc(...at(point), 2, 0, 7);
        context.fill();
      }
    }
    if (!fields.atoms.checked) return;
    const most = Math.max(...one.masses);
    const order = one.masses.map((_, k) => k).sort((a, b) => one.masses[a] - one.masses[b]);
    for (const k of order) { // those with the highest scores come on top
      const grey = Math.round(255 * (1 - one.masses[k] / most));
      context.beginPath();
      context.arc(...at(one.points[k]), 6, 0, 7);
      context.fillStyle = `rgb(${grey} ${grey} ${grey})`;
      context.fill();
      context.lineWidth = 3;
      context.strokeStyle = "#ffffff";
      context.stroke();
      context.lineWidth = 1.2;
      context.strokeStyle = "#000000";
      context.stroke();
    }
  }

  /** Mean negative log-density of points within the square, and how many those are. */
  function likelihood(one, targets) {
    const { low, high } = facts.domain;
    const inside = targets.filter(([x, y]) => x >= low[0] && x <= high[0] && y >= low[1] && y <= high[1]);
    return [-inside.reduce((sum, [x, y]) => sum + one.log(x, y), 0) / inside.length, inside.length];
  }

  function describe(panel, settings, targets) {
    const title = titles[panel.method];
    if (!panel.law) {
      panel.text.textContent = `There is no ${title} for this choice.`;
      panel.canvas.setAttribute("aria-label", panel.text.textContent);
      return;
    }
    const [nll, count] = likelihood(panel.law, targets);
    const h = METHODS[panel.method].h ? `, h = ${settings.h}` : "";
    const network = networkOf(panel.method, settings);
    const source = network.split("/")[0];
    const other = source === settings.protocol ? "" : ` Network of the protocol ${source}.`;
    panel.summary = `${title}${h}: NLL of the ${count} points shown ${nll.toFixed(3)}.${other}`;
    panel.text.textContent = panel.summary;
    const x = store.x.values[settings.x].toFixed(3);
    panel.canvas.setAttribute(
      "aria-label", `${titles[settings.dataset]}, x = ${x}, K = ${settings.K}. ${panel.summary}`);
  }

  function draw() {
    const settings = chosen();
    form.elements["x-value"].value = store.x.values[settings.x].toFixed(3);
    form.elements["h-value"].value = settings.h;
    const targets = row(store[`${settings.dataset}/targets`], settings.x, true);
    let top = 0;
    for (const panel of panels) {
      panel.law = law(panel.method, settings);
      panel.values = panel.law && values(panel.law);
      if (panel.law) top = Math.max(top, quantile(panel.values));
      describe(panel, settings, targets);
    }
    for (const panel of panels) {
      const context = panel.canvas.getContext("2d");
      context.clearRect(0, 0, panel.canvas.width, panel.canvas.height);
      if (!panel.law) continue;
      paintDensity(context, panel.values, top);
      paintLaw(context, panel.law, targets);
    }
    paintRamp(top);
    drawn += 1;
  }

  function paintRamp(top) {
    const context = document.querySelector("canvas.ramp").getContext("2d");
    for (let i = 0; i < 256; i += 1) {
      context.fillStyle = `rgb(${colour(i / 255).map(Math.round).join(" ")})`;
      context.fillRect(i, 0, 1, 8);
    }
    document.getElementById("ramp-top").textContent = `${top.toPrecision(3)} and more`;
  }

  let drawn = 0;
  let waiting = false;
  /** Draws before the next picture of the screen, once for all changes until then. */
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  function fill(select, options, first) {
    for (const value of options) select.append(new Option(titles[value] || value, value));
    if (options.includes(first)) select.value = first;
  }

  function startPanel(element, method, available) {
    const panel = {
      method, canvas: element.querySelector("canvas"), text: element.querySelector("p"), summary: "",
    };
    const select = element.querySelector("select");
    fill(select, available, method);
    panel.method = select.value;
    select.addEventListener("input", () => {
      panel.method = select.value;
      redraw();
    });
    panel.canvas.addEventListener("pointermove", (event) => {
      if (!panel.law) return;
      const { low, high } = facts.domain;
      const x = low[0] + (event.offsetX / panel.canvas.clientWidth) * (high[0] - low[0]);
      const y = high[1] - (event.offsetY / panel.canvas.clientHeight) * (high[1] - low[1]);
      const k = panel.law.nearest(x, y);
      panel.text.textContent = `${panel.summary} At (${x.toFixed(2)}, ${y.toFixed(2)}): log-density `
        + `${panel.law.log(x, y).toFixed(3)}; nearest hypothesis has score ${panel.law.masses[k].toPrecision(3)}.`;
    });
    panel.canvas.addEventListener("pointerleave", () => { panel.text.textContent = panel.summary; });
    panels.push(panel);
  }

  function start(data) {
    const source = document.getElementById("predictions");
    if (!source) return;
    const { tensors, metadata } = read(source.textContent);
    store = tensors;
    facts = { domain: JSON.parse(metadata.domain) };
    titles = data.titles;
    form = document.getElementById("explorer-form");
    const counts = names(3).map((name) => Number(name.slice(1))).sort((a, b) => a - b);
    fill(form.elements.dataset, names(1), "rotating_moons");
    fill(form.elements.protocol, protocols(), data.headline);
    fill(form.elements.K, counts.map(String), "16");
    form.elements.x.max = store.x.shape[0] - 1;
    form.elements.x.value = Math.floor(store.x.shape[0] / 2);
    const models = names(2);
    const available = Object.keys(METHODS).filter((name) => models.includes(METHODS[name].model));
    const boxes = document.querySelectorAll("[data-panel]");
    startPanel(boxes[0], "v_wta", available);
    startPanel(boxes[1], "k_wta", available);
    form.addEventListener("input", redraw);
    form.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("theme", redraw);
    redraw();
  }

  return { start, law, read, get drawn() { return drawn; } };
})();
