import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Finding} from '../../api/types';
import {changesBetween, findingTree} from './tree';

function finding(id: string, more: Partial<Finding> = {}): Finding {
  return {id, title: id, severity: 'error', confidence: 'certain', summary: '', advice: '', docs: '', evidence: {threads: [], objects: [], numbers: [], details: []}, ...more};
}

test('consequences stand below their cause, in the order of harm', () => {
  const roots = findingTree([finding('A'), finding('B', {becauseOf: 'A'}), finding('C'), finding('D', {partOf: 'A'}), finding('E', {becauseOf: 'B'})]);
  assert.deepEqual(roots.map((one) => one.key), ['A', 'C']);
  assert.deepEqual(roots[0].consequences.map((one) => one.key), ['B', 'D']);
  assert.deepEqual(roots[0].consequences[0].consequences.map((one) => one.key), ['E']);
});

test('every finding is shown once: unknown causes, circles and a second one of the same id', () => {
  const roots = findingTree([finding('A', {becauseOf: 'Z'}), finding('B', {becauseOf: 'C'}), finding('C', {becauseOf: 'B'}), finding('A')]);
  const keys: string[] = [];
  const walk = (nodes: typeof roots): void => nodes.forEach((one) => (keys.push(one.key), walk(one.consequences)));
  walk(roots);
  assert.deepEqual(keys.map((key) => key.split('-')[0]).sort(), ['A', 'A', 'B', 'C']);
  assert.equal(new Set(keys).size, 4);
});

test('findings of one id are known by their first thread, whatever their order', () => {
  const of = (osId: number) => finding('A', {evidence: {threads: [{osId, managedId: 1, name: '', does: '', frames: []}], objects: [], numbers: [], details: []}});
  const keysOf = (...findings: Finding[]) => findingTree(findings).map((one) => one.key);
  assert.deepEqual(keysOf(of(31), of(44)), ['A-t31', 'A-t44']);
  assert.deepEqual(keysOf(of(44), of(31)), ['A-t44', 'A-t31']);
  assert.deepEqual(keysOf(of(31)), ['A']);
  const changes = changesBetween({findings: [of(31)], examined: []}, {findings: [of(44), of(31)], examined: []});
  assert.deepEqual(changes.still.map((one) => one.after.key), ['A-t31']);
  assert.deepEqual(changes.fresh.map((one) => one.node.key), ['A-t44']);
});

test('changes name what is new, gone, still there, and what was not looked for', () => {
  const examined = (...ids: string[]) => ids.map((id) => ({id, name: id, outcome: 'nothing' as const}));
  const earlier = {findings: [finding('A'), finding('B'), finding('D')], examined: examined('A', 'B', 'C', 'D')};
  const later = {findings: [finding('B', {title: 'worse'}), finding('C'), finding('E')], examined: [...examined('A', 'B', 'C', 'E'), {id: 'D', name: 'D', outcome: 'notRun' as const}]};
  const changes = changesBetween(earlier, later);
  assert.deepEqual(changes.fresh.map((one) => [one.node.key, one.wasChecked]), [['C', true], ['E', false]]);
  assert.deepEqual(changes.gone.map((one) => one.key), ['A']);
  assert.deepEqual(changes.unchecked.map((one) => one.key), ['D']);
  assert.deepEqual(changes.still.map((one) => [one.before.finding.title, one.after.finding.title]), [['B', 'worse']]);
});
