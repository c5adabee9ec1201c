// What is got out of the provider against what is asked of it in vain: one dot a peer.
const LETTER = 6.6, LINE = 14;

// A place for each label where no other and no dot is, beside its dot or a few lines above or below.
function placed(points, x, y, frame) {
  const taken = points.map(point => box(x(point.refused) - 6, y(point.efficiency) - 6, 12, 12));
  return points.map(point => {
    const long = label(point.peer).length * LETTER, [px, py] = [x(point.refused), y(point.efficiency)];
    const lines = d3.range(13).flatMap(far => far ? [far, -far] : [0]);
    const boxes = lines.flatMap(far => [10, -10 - long, 40, -40 - long, 90, 140].map(dx => box(px + dx, py + (far - .5) * LINE, long, LINE)));
    const isFree = b => b.left > frame.left && b.right < frame.right + 16 && b.top > frame.top && b.bottom < frame.bottom
      && !taken.some(other => meet(b, other));
    const free = boxes.find(isFree) ?? boxes[0];
    taken.push(free);
    return {...point, left: free.left, near: free.left > px ? free.left - 2 : free.right + 2, middle: (free.top + free.bottom) / 2};
  });
}

const box = (left, top, width, height) => ({left, top, right: left + width, bottom: top + height});
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

draw("cost", width => {
  const means = d3.rollups(measured.cells, cells => ({
    efficiency: d3.mean(cells, d => d.efficiency), refused: d3.mean(cells, d => d.refused),
  }), d => d.peer).map(([peer, of]) => ({peer, ...of}));
  const height = Math.max(360, Math.min(width * .6, 480));
  const frame = {left: 44, right: width - 16, top: 20, bottom: height - 40};
  const x = d3.scaleLinear([0, d3.max(means, d => d.refused) * 1.1], [frame.left, frame.right]);
  const y = d3.scaleLinear([Math.min(.5, d3.min(means, d => d.efficiency)), 1], [frame.bottom, frame.top]);
  const labelled = placed(means, x, y, frame);
  return {
    height, marginLeft: frame.left, marginRight: 16, marginTop: frame.top, marginBottom: 40,
    x: {domain: x.domain(), tickFormat: "%", label: "attempts refused", grid: true},
    y: {domain: y.domain(), label: "efficiency", grid: true},
    marks: [
      Plot.link(labelled, {x1: "refused", y1: "efficiency", x2: d => x.invert(d.near),
        y2: d => y.invert(d.middle), stroke: "var(--offered)"}),
      Plot.dot(means, {x: "refused", y: "efficiency", r: 5, fill: d => colour(d.peer)}),
      Plot.text(labelled, {x: d => x.invert(d.left), y: d => y.invert(d.middle), text: d => label(d.peer), textAnchor: "start",
        fill: d => colour(d.peer), fontWeight: d => d.peer == "weir" ? 700 : 400}),
    ],
  };
});
