import {equal} from 'node:assert/strict';
import {test} from 'node:test';
import type {Remedy} from '../../api/types';
import {placesOf} from './places';

const nothing = {threads: [], objects: [], numbers: [], details: []};
const thread = (osId: number) => ({osId, managedId: 1, name: '', does: 'waits', frames: []});
const all = () => true;

test('a finding leads to the page of its evidence', () => {
  const words = (id: string) => placesOf({id, evidence: nothing}, 7, all)[0].words;
  equal(words('CS1501'), 'See the exceptions');
  equal(words('CS1401'), 'Record CPU');
  equal(words('CS1902'), 'Examine it');
});

test('a finding about threads leads to its first thread', () => {
  const [first] = placesOf({id: 'CS1001', evidence: {...nothing, threads: [thread(31), thread(44)]}}, 7, all);
  equal(first.words, 'See its 2 threads');
  equal(`${first.path}${first.hash}`, '/stacks#t31');
});

test('a page that the key does not open is not offered', () => {
  const [first] = placesOf({id: 'CS1401', evidence: nothing}, 7, () => false);
  equal(first.words, 'Examine it');
  equal(first.query.only, 'CS1401');
});

test('advice that leads to the same page is not repeated', () => {
  const next: Remedy[] = [
    {verb: 'stacks', options: {pid: '7'}},
    {verb: 'collect', options: {pid: '7', profile: 'thread-time'}},
  ];
  const places = placesOf({id: 'CS1001', evidence: {...nothing, threads: [thread(31)]}, next}, 7, all);
  equal(places.map((one) => one.words).join(', '), 'See thread 31, Record waits');
});

test('what the doctor advises is a page where there is one', () => {
  const wordsOf = (remedy: Remedy) => placesOf({id: 'CS1401', evidence: nothing, next: [remedy]}, 7, all).slice(1).map((one) => `${one.words} ${one.path}`).join();
  equal(wordsOf({verb: 'heap', options: {pid: '7', strings: ''}}), 'See the heap /heap');
  equal(wordsOf({verb: 'dump', options: {pid: '7', type: 'heap'}}), 'See the heap /heap');
  equal(wordsOf({verb: 'dump', options: {pid: '7', type: 'full'}}), '');
  equal(wordsOf({verb: 'requests', options: {pid: '7', include: 'Shop'}}), 'Profile requests /views/requests');
  const next: Remedy[] = [{verb: 'stacks', options: {pid: '7', async: ''}}];
  equal(placesOf({id: 'CS1205', evidence: nothing, next}, 7, all).map((one) => one.words).join(), 'See the async stacks');
});
