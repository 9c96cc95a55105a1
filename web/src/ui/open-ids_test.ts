import {equal} from 'node:assert/strict';
import {test} from 'node:test';
import {changed, isIn} from './open-ids';

const kGeneric = 'a:Dictionary`2[System.Int32,System.String]';

test('an id with a comma or a percent sign is one id', () => {
  let value = '';
  for (const id of [kGeneric, 'a:100%', 'a:%2C', 'b']) value = changed(value, id, true);
  equal([kGeneric, 'a:100%', 'a:%2C', 'b'].every((id) => isIn(value, id)), true);
  equal(isIn(value, 'System.String]'), false);
  equal(isIn(value, 'a:,'), false);
  equal(changed(changed('', kGeneric, true), kGeneric, false), '-');
});
