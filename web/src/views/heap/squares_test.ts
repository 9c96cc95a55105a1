import {deepEqual, equal} from 'node:assert/strict';
import {test} from 'node:test';
import {squares} from './squares';

const ok = (isTrue: boolean) => equal(isTrue, true);
const whole = {x: 0, y: 0, width: 600, height: 400};

test('areas are in proportion and fill the box', () => {
  const values = [6, 6, 4, 3, 2, 2, 1];
  const boxes = squares(values, whole);
  boxes.forEach((box, i) => ok(Math.abs(box.width * box.height - values[i] * 10_000) < 1e-6));
  for (const box of boxes) {
    ok(box.x >= 0 && box.y >= 0);
    ok(box.x + box.width <= 600 + 1e-6 && box.y + box.height <= 400 + 1e-6);
  }
});

test('no two boxes overlap', () => {
  const boxes = squares([9, 5, 5, 3, 2, 1, 1, 1, 0.5], whole);
  boxes.forEach((a, i) =>
    boxes.slice(i + 1).forEach((b) => {
      const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
      const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
      ok(across < 1e-6 || down < 1e-6);
    }),
  );
});

test('nothing and nonsense get no room', () => {
  deepEqual(squares([], whole), []);
  equal(squares([0, -3], whole)[1].width, 0);
  equal(squares([5, 0], whole)[1].height, 0);
  equal(squares([5], {...whole, width: 0})[0].width, 0);
});

test('the order given is the order returned', () => {
  const boxes = squares([1, 100], whole);
  ok(boxes[1].width * boxes[1].height > boxes[0].width * boxes[0].height);
});
