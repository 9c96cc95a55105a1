import {deepEqual} from 'node:assert/strict';
import {test} from 'node:test';
import {partsOf} from './hint';

test('a list of the API is a page', () => {
  deepEqual(partsOf('GET /recordings lists the recordings'), {list: ['/recordings', 'All recordings'], rest: ''});
  deepEqual(partsOf('GET /requests/runs lists those that are kept; clrscope requests -o FILE keeps one'), {list: ['/views/requests', 'All profiles', {tab: 'profile'}], rest: 'clrscope requests -o FILE keeps one'});
});

test('other hints stay as they are', () => {
  deepEqual(partsOf('run as root'), {rest: 'run as root'});
  deepEqual(partsOf('GET /nothing lists nothing'), {rest: 'GET /nothing lists nothing'});
});
