"use strict";
// The explorer of a model: the law that it predicts for the features of the sliders.
window.vwta = window.vwta || {};

vwta.model = (() => {
  const RAMPS = {
    light: [[255, 255, 255], [205, 227, 245], [130, 186, 228], [62, 138, 201]],
    dark: [[20, 24, 29], [16, 52, 86], [26, 88, 142], [54, 136, 200]],
  };
  const INK = { light: "#1b1f24", dark: "#e6e9ed" };
  const BLUE = { light: "#0072b2", dark: "#56b4e9" };
  const MARGIN = { left: 96, right: 16, top: 16, bottom: 51 };
  const GRID = 160;
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("law");
  const context = canvas.getContext("2d");
  const form = document.getElementById("controls");
  const flat = data.names.length === 1;
  let one; // the law that is drawn
  let drawn = 0;

  /** Numbers that were packed: float32 in base64. */
  function unpack({ shape, base64 }) {
    const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
    return { shape, values: new Float32Array(bytes.buffer) };
  }
  function row({ shape, values }, at) {
    const size = shape[1];
    return Array.from(values.subarray(at * size, (at + 1) * size));
  }
  const pairs = (list) => Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i], list[2 * i + 1]]);
  const all = (entries) => Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, unpack(value)]));

  const mean = unpack(data.mean);
  const modes = unpack(data.modes);
  const quantiles = flat ? unpack(data.quantiles) : null;
  const curves = flat ? { ...all(data.curves), ...all({ atoms: data.atoms, masses: data.masses }) } : null;
  const members = flat ? null : data.members.map(all);
  const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
  const short = (x) => (x === 0 ? "0" : Number(x.toPrecision(4)).toString());

  function logSum(terms) {
    const top = Math.max(...terms);
    if (top === -Infinity) return top;
    return top + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - top), 0));
  }

  /** Log-density of Gaussians with a width along each axis. */
  function along(points, masses, widths) {
    const level = masses.map((mass, k) => Math.log(mass) - Math.log(2 * Math.PI * widths[k][0] * widths[k][1]));
    return (x, y) => logSum(points.map((z, k) => (
      level[k] - (((x - z[0]) / widths[k][0]) ** 2 + ((y - z[1]) / widths[k][1]) ** 2) / 2)));
  }

  /** The law of a row of the grid: its log-density, in the unit of the target. */
  function lawAt(at) {
    if (flat) {
      const names = ["centre", "low", "high", "precision", "level", "atoms", "masses"];
      const [centre, low, high, precision, level, points, masses] = names.map((name) => row(curves[name], at));
      const [[location], [scale]] = [data.location, data.scale];
      const log = (y) => {
        const u = (y - location) / scale;
        return logSum(centre.map((z, k) => (
          u < low[k] || u > high[k] ? -Infinity : level[k] - ((u - z) ** 2 * precision[k]) / 2))) - Math.log(scale);
      };
      const [turns, first, last, atoms] = [centre, low, high, points].map((list) => list.map((u) => location + scale * u));
      return { log, centre: turns, low: first, high: last, atoms, masses };
    }
    const { location, scale } = data;
    const laws = members.map((each) => {
      const points = pairs(row(each.points, at));
      const masses = row(each.masses, at);
      if (each.widths) return { points, masses, log: along(points, masses, pairs(row(each.widths, at))) };
      const local = each.centres && { centres: pairs(row(each.centres, at)), inside: row(each.inside, at) };
      return { points, masses, ...vwta.geometry.density(points, masses, row(each.scales, at), data.box, local) };
    });
    const unit = Math.log(scale[0] * scale[1] * laws.length);
    const log = (x, y) => {
      const u = [(x - location[0]) / scale[0], (y - location[1]) / scale[1]];
      return logSum(laws.map((each) => each.log(...u))) - unit;
    };
    return { log, laws };
  }

  /** Number of the row of the grid that the sliders stand at. */
  function place() {
    return data.features.reduce((sum, { values }, i) => sum * values.length + Number(form.elements[`f${i}`].value), 0);
  }

  function frame(low, high, labels) {
    const { left, right, top, bottom } = MARGIN;
    const [w, h] = [canvas.width - left - right, canvas.height - top - bottom];
    const x = (value) => left + ((value - low[0]) / (high[0] - low[0])) * w;
    const y = (value) => top + h - ((value - low[1]) / (high[1] - low[1])) * h;
    context.fillStyle = INK[theme()];
    context.strokeStyle = INK[theme()];
    context.lineWidth = 1;
    context.font = "16px system-ui, sans-serif";
    context.strokeRect(left, top, w, h);
    for (const [axis, at] of [[0, x], [1, y]]) {
      const step = 10 ** Math.floor(Math.log10((high[axis] - low[axis]) / 3));
      const size = [1, 2, 5, 10].map((f) => f * step).find((f) => (high[axis] - low[axis]) / f <= 6);
      for (let i = Math.ceil(low[axis] / size); i * size <= high[axis]; i += 1) {
        context.textAlign = axis ? "right" : "center";
        context.textBaseline = axis ? "middle" : "top";
        if (axis) context.fillText(short(i * size), left - 6, at(i * size));
        else context.fillText(short(i * size), at(i * size), top + h + 9);
      }
    }
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(labels[0], left + w / 2, canvas.height - 2);
    context.save();
    context.translate(14, top + h / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "middle";
    context.fillText(labels[1], 0, 0);
    context.restore();
    return { x, y, w, h };
  }

  function circle(x, y, share) {
    const grey = Math.round(255 * (1 - share));
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.fillStyle = `rgb(${grey} ${grey} ${grey})`;
    context.fill();
    context.lineWidth = 1.2;
    context.strokeStyle = theme() === "dark" ? "#ffffff" : "#000000";
    context.stroke();
  }

  function drawLine() {
    const { low: [first], high: [last] } = data.window;
    const at = [];
    for (let i = 0; i <= 800; i += 1) at.push(first + (i / 800) * (last - first));
    for (const y of [...one.centre, ...one.low, ...one.high]) { // both sides of where a density jumps
      if (y > first && y < last) at.push(y - 1e-6 * (last - first), y + 1e-6 * (last - first));
    }
    at.sort((a, b) => a - b);
    const p = at.map((y) => Math.exp(one.log(y)));
    const top = 1.08 * Math.max(...p);
    const { x, y } = frame([first, 0], [last, top], [data.names[0], "density"]);
    context.beginPath();
    at.forEach((value, i) => context[i ? "lineTo" : "moveTo"](x(value), y(p[i])));
    context.strokeStyle = BLUE[theme()];
    context.lineWidth = 2;
    context.stroke();
    context.lineTo(x(last), y(0));
    context.lineTo(x(first), y(0));
    context.globalAlpha = 0.25;
    context.fillStyle = BLUE[theme()];
    context.fill();
    context.globalAlpha = 1;
    const most = Math.max(...one.masses);
    one.atoms.forEach((z, k) => { if (z > first && z < last) circle(x(z), y(0), one.masses[k] / most); });
  }

  function drawPlane() {
    const { low, high } = data.window;
    const { left, top: above } = MARGIN;
    const values = new Float64Array(GRID * GRID);
    for (let i = 0; i < GRID; i += 1) {
      const y = high[1] - ((i + 0.5) / GRID) * (high[1] - low[1]);
      for (let j = 0; j < GRID; j += 1) {
        values[i * GRID + j] = Math.exp(one.log(low[0] + ((j + 0.5) / GRID) * (high[0] - low[0]), y));
      }
    }
    const top = values.reduce((a, b) => Math.max(a, b), 0);
    const picture = new ImageData(GRID, GRID);
    const ramp = RAMPS[theme()];
    values.forEach((value, n) => {
      const at = Math.sqrt(value / top) * (ramp.length - 1);
      const i = Math.min(ramp.length - 2, Math.floor(at));
      picture.data.set([...ramp[i].map((from, c) => from + (at - i) * (ramp[i + 1][c] - from)), 255], 4 * n);
    });
    const small = document.createElement("canvas");
    [small.width, small.height] = [GRID, GRID];
    small.getContext("2d").putImageData(picture, 0, 0);
    const { x, y, w, h } = frame(low, high, data.names);
    context.drawImage(small, left, above, w, h);
    const { location, scale } = data;
    const outer = ([u, v]) => [x(location[0] + scale[0] * u), y(location[1] + scale[1] * v)];
    context.save();
    context.beginPath();
    context.rect(left, above, w, h);
    context.clip();
    const first = one.laws[0];
    if (first.cells && one.laws.length === 1) {
      context.strokeStyle = INK[theme()];
      context.lineWidth = 1;
      for (const polygon of first.cells) {
        if (!polygon) continue;
        context.beginPath();
        polygon.forEach((point, i) => context[i ? "lineTo" : "moveTo"](...outer(point)));
        context.closePath();
        context.stroke();
      }
    }
    for (const each of one.laws) {
      const most = Math.max(...each.masses);
      each.points.forEach((point, k) => circle(...outer(point), each.masses[k] / most));
    }
    context.restore();
    frame(low, high, data.names);
  }

  function table(at) {
    const heads = ["probability", ...(flat ? ["mean", "90 % from", "to"] : data.names.map((name) => `mean ${name}`))];
    const found = document.createElement("table");
    const add = (cells, kind) => {
      const line = found.insertRow();
      for (const cell of cells) {
        const made = document.createElement(kind);
        made.textContent = cell;
        line.append(made);
      }
    };
    add(heads, "th");
    for (let i = 0; i < modes.shape[0]; i += 1) {
      const [number, probability, ...rest] = row(modes, i);
      if (number === at) add([`${(100 * probability).toFixed(0)} %`, ...rest.map(short)], "td");
    }
    document.getElementById("modes").replaceChildren(found);
  }

  function summary(at) {
    const means = row(mean, at).map(short).join(", ");
    if (!flat) return `Mean ${means}.`;
    const [low, middle, high] = row(quantiles, at).map(short);
    return `Mean ${means}; median ${middle}; 90 % between ${low} and ${high}.`;
  }

  function draw() {
    const at = place();
    data.features.forEach(({ values }, i) => {
      const value = values[Number(form.elements[`f${i}`].value)];
      const shown = form.elements[`f${i}-value`];
      if (shown) shown.value = typeof value === "number" ? short(value) : value;
    });
    one = lawAt(at);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (flat) drawLine();
    else drawPlane();
    const text = summary(at);
    document.getElementById("about").textContent = text;
    canvas.setAttribute("aria-label", text);
    table(at);
    drawn += 1;
  }

  let waiting = false;
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  function control({ name, values }, i) {
    const label = document.createElement("label");
    const title = document.createElement("span");
    title.textContent = name;
    label.append(title);
    let field;
    if (typeof values[0] === "number") {
      title.textContent = `${name} = `;
      const shown = document.createElement("output");
      shown.name = `f${i}-value`;
      title.append(shown);
      field = document.createElement("input");
      field.type = "range";
      [field.min, field.max, field.step] = [0, values.length - 1, 1];
      field.value = Math.floor(values.length / 2);
    } else {
      field = document.createElement("select");
      values.forEach((value, k) => field.append(new Option(value, k)));
    }
    field.name = `f${i}`;
    label.append(field);
    form.append(label);
  }

  data.features.forEach(control);
  const rest = Object.entries(data.typical).map(([name, value]) => (
    `${name} = ${typeof value === "number" ? short(value) : value}`));
  if (rest.length) document.getElementById("typical").textContent = `Other features: ${rest.join(", ")}.`;
  form.addEventListener("input", redraw);
  form.addEventListener("submit", (event) => event.preventDefault());
  draw();
  return { lawAt, place, get drawn() { return drawn; } };
})();
