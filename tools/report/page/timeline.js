// A panel a peer, all of one size and scale.
const chosen = () => measured.timelines[Number(document.querySelector("input[name=timeline]:checked")?.value ?? 0)];
const PANEL = 210, GAP = 16;

function series(timeline, run) {
  const second = 1000 / timeline.bucket_ms;
  return run.accepted.map((accepted, i) => ({
    t: (i + .5) / second, accepted: accepted * second, offered: run.offered[i] * second, refused: run.refused[i] * second,
    envelope: run.envelope[i] == null ? NaN : run.envelope[i] * second,
  }));
}

function panel(points, peer, width, until, top) {
  const smooth = (y, more) => Plot.windowY({k: 4, anchor: "middle", reduce: "mean"}, {x: "t", y, clip: true, ...more});
  return {
    width, height: 130, marginLeft: 28, marginRight: 6, marginTop: 20, marginBottom: 22,
    ariaLabel: `${label(peer)}: starts a second`,
    x: {domain: [0, until], label: null, ticks: 4}, y: {domain: [0, top], label: null, ticks: 3, grid: true},
    marks: [
      Plot.areaY(points, smooth("envelope", {fill: "var(--envelope)"})),
      Plot.lineY(points, smooth("offered", {stroke: "var(--offered)", strokeDasharray: "3 3"})),
      Plot.lineY(points, smooth("refused", {stroke: "var(--refused)", strokeWidth: 1.5})),
      Plot.lineY(points, smooth("accepted", {stroke: colour(peer), strokeWidth: 2})),
      Plot.text([label(peer)], {text: d => d, fill: colour(peer), fontWeight: 700, frameAnchor: "top-left", dy: -16}),
      Plot.frame({stroke: "var(--line)"}),
    ],
  };
}

draw("timeline", width => {
  const timeline = chosen();
  if (!timeline) return [];
  const columns = Math.max(1, Math.floor((width + GAP) / (PANEL + GAP)));
  const each = Math.floor((width + GAP) / columns - GAP);
  const runs = timeline.runs.map(run => ({peer: run.peer, points: series(timeline, run)}));
  const until = d3.max(runs, run => run.points.length) * timeline.bucket_ms / 1000;
  const top = Math.max(d3.max(runs, run => d3.max(run.points, d => d.offered)), 10) * 1.25;
  return runs.map(run => panel(run.points, run.peer, each, until, top));
});
for (const input of document.querySelectorAll("input[name=timeline]")) input.addEventListener("change", () => redraw("timeline"));
