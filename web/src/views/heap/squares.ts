// Rectangles whose areas are values, as near to squares as can be: a treemap's layout, one level of it.

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

// The worst ratio of sides in a row of these areas along a side of that length.
function worst(areas: number[], side: number): number {
  const sum = areas.reduce((all, one) => all + one, 0);
  const most = Math.max(...areas);
  const least = Math.min(...areas);
  return Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));
}

// One box for each value, in the same order. Values that are not positive get an empty box.
export function squares(values: number[], {x, y, width, height}: Box): Box[] {
  const boxes = values.map((): Box => ({x, y, width: 0, height: 0}));
  const total = values.reduce((all, one) => all + Math.max(0, one), 0);
  if (total <= 0 || width <= 0 || height <= 0) return boxes;
  const scale = (width * height) / total;
  const order = values.map((_, i) => i).filter((i) => values[i] > 0).sort((a, b) => values[b] - values[a]);
  let left: Box = {x, y, width, height};
  for (let first = 0; first < order.length; ) {
    const side = Math.min(left.width, left.height);
    const row = [values[order[first]] * scale];
    let next = first + 1;
    for (; next < order.length; ++next) {
      const more = [...row, values[order[next]] * scale];
      if (worst(more, side) > worst(row, side)) break;
      row.push(more[more.length - 1]);
    }
    const sum = row.reduce((all, one) => all + one, 0);
    const depth = side > 0 ? sum / side : 0;
    let at = 0;
    const isTall = left.width >= left.height; // the row is a column at the left
    row.forEach((area, i) => {
      const length = depth > 0 ? area / depth : 0;
      boxes[order[first + i]] = isTall ? {x: left.x, y: left.y + at, width: depth, height: length} : {x: left.x + at, y: left.y, width: length, height: depth};
      at += length;
    });
    left = isTall ? {x: left.x + depth, y: left.y, width: Math.max(0, left.width - depth), height: left.height} : {x: left.x, y: left.y + depth, width: left.width, height: Math.max(0, left.height - depth)};
    first = next;
  }
  return boxes;
}
