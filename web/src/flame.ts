// The viewer alone, for the file that clrscope flame writes: its data is in the same file.
import {showTrouble} from './ui/trouble';
import {startThemeSwitch} from './ui/theme';
import type {FlameJson} from './views/flame/data';
import {Viewer} from './views/flame/viewer';

const root = document.querySelector<HTMLElement>('main');
const data = document.getElementById('flame-data');
if (root && data) {
  startThemeSwitch();
  try {
    new Viewer(root, JSON.parse(data.textContent ?? '') as FlameJson);
  } catch (error) {
    showTrouble(root, {text: error instanceof Error ? error.message : String(error), hint: 'Make the file again with clrscope flame.'});
  }
}
