// All views, one line each. The name in data-view is the view's id.
import type {View} from '../view';
import {flame} from './flame';
import {counters} from './counters';
import {record} from './record';
import {doctor, visit} from './doctor';
import {events} from './events';
import {stacks} from './stacks';
import {strip} from './strip';
import {upload} from './upload';
import {tiles} from './tiles';

export const views: View[] = [
  flame,
  counters,
  record,
  doctor,
  events,
  stacks,
  strip,
  upload,
  tiles,
  visit,
];
