"use strict";
// Voronoi cells in a box, kernel masses of cells, and the densities that follow from atoms.
window.vwta = window.vwta || {};

vwta.geometry = (() => {
  const NODES = 24;
  const REACH = 22; // exp(-22) = 3e-10 is what a kernel has left beyond the outermost node

  /** Nodes and weights of Gauss and Legendre on [-1, 1]. */
  const gauss = (() => {
    const nodes = [];
    const weights = [];
    for (let i = 1; i <= NODES; i += 1) {
      let t = Math.cos((Math.PI * (i - 0.25)) / (NODES + 0.5));
      let slope = 1;
      for (let step = 0; step < 50; step += 1) {
        let [p, before] = [1, 0];
        for (let n = 1; n <= NODES; n += 1) [p, before] = [((2 * n - 1) * t * p - (n - 1) * before) / n, p];
        slope = (NODES * (t * p - before)) / (t * t - 1);
        const change = p / slope;
        t -= change;
        if (Math.abs(change) < 1e-15) break;
      }
      nodes.push(t);
      weights.push(2 / ((1 - t * t) * slope * slope));
    }
    return { nodes, weights };
  })();

  /** The part of a convex polygon on whose points p: n · p <= c. */
  function clip(polygon, nx, ny, c) {
    const kept = [];
    for (let i = 0; i < polygon.length; i += 1) {
      const p = polygon[i];
      const q = polygon[(i + 1) % polygon.length];
      const dp = nx * p[0] + ny * p[1] - c;
      const dq = nx * q[0] + ny * q[1] - c;
      if (dp <= 0) kept.push(p);
      if ((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) {
        const t = dp / (dp - dq);
        kept.push([p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])]);
      }
    }
    return kept;
  }

  /** The cell of each atom, counter-clockwise; null where an earlier atom is at the same place. */
  function cells(points, box) {
    const [[x0, y0], [x1, y1]] = [box.low, box.high];
    return points.map((z, k) => {
      if (points.some((p, j) => j < k && p[0] === z[0] && p[1] === z[1])) return null;
      let polygon = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
      for (const p of points) {
        const [nx, ny] = [p[0] - z[0], p[1] - z[1]];
        if (nx === 0 && ny === 0) continue;
        polygon = clip(polygon, nx, ny, (nx * (p[0] + z[0]) + ny * (p[1] + z[1])) / 2);
      }
      return polygon;
    });
  }

  /** Edges as the atom sees them: distance a of the line, and from s1 to s2 along it. */
  function edges(polygon, z) {
    const found = [];
    for (let i = 0; i < polygon.length; i += 1) {
      const p = [polygon[i][0] - z[0], polygon[i][1] - z[1]];
      const next = polygon[(i + 1) % polygon.length];
      const q = [next[0] - z[0], next[1] - z[1]];
      const length = Math.hypot(q[0] - p[0], q[1] - p[1]);
      if (length === 0) continue;
      const d = [(q[0] - p[0]) / length, (q[1] - p[1]) / length];
      const s1 = p[0] * d[0] + p[1] * d[1];
      found.push({ a: Math.max(0, p[0] * d[1] - p[1] * d[0]), s1, s2: s1 + length });
    }
    return found;
  }

  const phi = (x) => (x > 0 ? -Math.expm1(-x) / x : 1);

  /** Log of the mass that a Gaussian of scale h around z has in a cell; of its area if h is infinite. */
  function logMass(polygon, z, h) {
    const sides = edges(polygon, z);
    if (h === Infinity) return Math.log(sides.reduce((sum, { a, s1, s2 }) => sum + (a * (s2 - s1)) / 2, 0));
    const limit = h * Math.sqrt(2 * REACH);
    let mass = 0;
    for (const { a, s1, s2 } of sides) {
      const lo = Math.min(limit, Math.max(-limit, s1));
      const hi = Math.min(limit, Math.max(-limit, s2));
      mass += Math.atan2(s2, a) - Math.atan2(hi, a) + Math.atan2(lo, a) - Math.atan2(s1, a);
      const [middle, half] = [(lo + hi) / 2, (hi - lo) / 2];
      for (let i = 0; i < NODES; i += 1) {
        const s = middle + half * gauss.nodes[i];
        mass += ((half * gauss.weights[i] * a) / (2 * h * h)) * phi((a * a + s * s) / (2 * h * h));
      }
    }
    return Math.log(mass / (2 * Math.PI));
  }

  /**
   * A density from atoms: cut to cells if there is a box, a mixture otherwise.
   * scales: one bandwidth for each atom; infinite ones are uniform kernels, and need a box.
   * local: centres of the kernels, and the logs of the masses that they have inside their cells, if
   * the centres are not the atoms.
   */
  function density(points, masses, scales, box, local) {
    const K = points.length;
    const own = Array.from(masses);
    const found = box ? cells(points, box) : null;
    if (found) {
      points.forEach((z, k) => { // atoms at the same place share a cell: it is the first one's
        if (found[k]) return;
        own[points.findIndex((p) => p[0] === z[0] && p[1] === z[1])] += own[k];
        own[k] = 0;
      });
    }
    const level = new Float64Array(K); // log of mass and of all that does not depend on y
    const slope = new Float64Array(K); // factor of the squared distance
    for (let k = 0; k < K; k += 1) {
      const h = scales[k];
      slope[k] = h === Infinity ? 0 : -1 / (2 * h * h);
      level[k] = Math.log(own[k]) - (h === Infinity ? 0 : Math.log(2 * Math.PI * h * h));
      if (found && found[k]) level[k] -= local ? local.inside[k] : logMass(found[k], points[k], h);
    }
    const xs = Float64Array.from(points, (p) => p[0]);
    const ys = Float64Array.from(points, (p) => p[1]);
    const centres = local ? local.centres : points;

    function nearest(x, y) {
      let [best, at] = [Infinity, 0];
      for (let k = 0; k < K; k += 1) {
        const d = (x - xs[k]) ** 2 + (y - ys[k]) ** 2;
        if (d < best) [best, at] = [d, k];
      }
      return at;
    }
    function cut(x, y) {
      if (x < box.low[0] || x > box.high[0] || y < box.low[1] || y > box.high[1]) return -Infinity;
      const k = nearest(x, y);
      return level[k] + slope[k] * ((x - centres[k][0]) ** 2 + (y - centres[k][1]) ** 2);
    }
    const terms = new Float64Array(K);
    function mixed(x, y) {
      let top = -Infinity;
      for (let k = 0; k < K; k += 1) {
        terms[k] = level[k] + slope[k] * ((x - xs[k]) ** 2 + (y - ys[k]) ** 2);
        if (terms[k] > top) top = terms[k];
      }
      if (top === -Infinity) return top;
      let sum = 0;
      for (let k = 0; k < K; k += 1) sum += Math.exp(terms[k] - top);
      return top + Math.log(sum);
    }
    return { cells: found, nearest, log: box ? cut : mixed };
  }

  return { cells, logMass, density };
})();
