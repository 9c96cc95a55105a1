// All views, one line each. The name in data-view is the view's id.
import type {View} from '../view';
import {flame} from './flame';
import {strip} from './strip';
import {upload} from './upload';

export const views: View[] = [
  flame,
  strip,
  upload,
];
