import {equal} from 'node:assert/strict';
import {test} from 'node:test';
import {idsOf} from './short-id';

test('the id of a row does not depend on the rows beside it; equal rows have ids of their own', () => {
  const [a, b, again] = [{text: 'a'}, {text: 'b'}, {text: 'a'}];
  const text = (row: {text: string}) => row.text;
  equal(idsOf([a, b], text).get(b), idsOf([b], text).get(b));
  equal(new Set(idsOf([a, b, again], text).values()).size, 3);
});
