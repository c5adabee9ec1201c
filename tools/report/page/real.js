// What was measured on a real Envoy: medians, and from the lowest to the highest.
const accent = name => name.startsWith("Weir") ? "var(--weir)" : "var(--peer)";

// The width of each of some panels, in rows of one length.
function side(width, count, least) {
  let columns = Math.max(1, Math.min(count, Math.floor((width + 16) / (least + 16))));
  while (count % columns) columns--;
  return Math.floor((width - 16 * (columns - 1)) / columns);
}

function ways(field, axis) {
  return width => {
    const rows = measured.bench.filter(d => d.field == field);
    return d3.groups(rows, d => d.model).map(([model, some], i, all) => {
      return {
        width: side(width, all.length, 280), height: some.length * 22 + 66, marginBottom: 38, marginLeft: 140, marginTop: 26, marginRight: 16,
        ariaLabel: `${model}: ${axis.label}`,
        x: {domain: [0, Math.max(1, d3.max(rows, d => d.highest))], grid: true, ticks: 3, ...axis},
        y: {domain: some.map(d => d.way), label: null, tickSize: 0},
        marks: [
          Plot.ruleY(some, {x1: "lowest", x2: "highest", y: "way", stroke: d => accent(d.way), strokeWidth: 2}),
          Plot.dot(some, {x: "median", y: "way", r: 5, fill: d => accent(d.way), title: d => `${d.way}: ${d.median.toFixed(3)}`}),
          Plot.text([model], {text: d => d, frameAnchor: "top-left", fontWeight: 700, dy: -22}),
        ],
      };
    });
  };
}

draw("bench", ways("efficiency", {label: "efficiency"}));
draw("bench-refused", ways("refused_share", {label: "refused", tickFormat: "%"}));

draw("overhead", width => d3.groups(measured.overhead, d => d.workers).map(([workers, some], i, all) => {
  return {
    width: side(width, all.length, 400), height: some.length * 28 + 66, marginBottom: 38, marginLeft: 150, marginTop: 26, marginRight: 16,
    ariaLabel: `${workers}: CPU a call`,
    x: {domain: [0, d3.max(measured.overhead, d => d.highest)], label: "us", grid: true, ticks: 4},
    y: {domain: some.map(d => d.filter), label: null, tickSize: 0},
    marks: [
      Plot.barX(some, {x: "median", y: "filter", fill: d => accent(d.filter), fillOpacity: .75, inset: 3}),
      Plot.ruleY(some, {x1: "lowest", x2: "highest", y: "filter", stroke: "var(--text)"}),
      Plot.text([workers], {text: d => d, frameAnchor: "top-left", fontWeight: 700, dy: -22}),
    ],
  };
}));

draw("agreement", width => [["efficiency", "efficiency, %"], ["refused", "refused, %"]].map(([field, title]) => {
  const some = measured.agreement.filter(d => d.field == field);
  const size = Math.min(width < 700 ? width : (width - 16) / 2, 420);
  const top = field == "efficiency" ? 100 : Math.max(10, d3.max(some, d => Math.max(d.simulated, d.measured)) * 1.1);
  return {
    width: size, height: size, marginLeft: 44, marginTop: 26, marginBottom: 40, marginRight: 20, ariaLabel: `${title}, simulated and measured`,
    x: {domain: [0, top], label: "simulated", grid: true, ticks: 5}, y: {domain: [0, top], label: null, grid: true, ticks: 5},
    marks: [
      Plot.areaY([0, top], {x: d => d, y1: d => d - 5, y2: d => d + 5, fill: "var(--envelope)", fillOpacity: .6, clip: true}),
      Plot.line([[0, 0], [top, top]], {stroke: "var(--offered)"}),
      Plot.dot(some, {x: "simulated", y: "measured", r: 4.5, fill: d => accent(d.way), fillOpacity: .8, title: d => `${d.model}, ${d.way}`}),
      Plot.text([`${title}: on Envoy`], {text: d => d, frameAnchor: "top-left", fontWeight: 700, dy: -22}),
    ],
  };
}));
