// Opens a trace from the reader's disk: chosen or dropped, it is kept by the controller and shown as a flame graph.
import {messageOf, type Api} from '../../api/client';
import {clearTrouble, showTrouble} from '../../ui/trouble';
import type {View} from '../../view';

function start(root: HTMLElement, api: Api): void {
  const label = document.createElement('label');
  label.className = 'drop';
  const text = document.createElement('span');
  text.textContent = 'Open a trace: choose a .nettrace file, compressed or not, or drop it here.';
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = '.nettrace,.zst,.gz,.netperf';
  label.append(text, input);
  root.replaceChildren(label);

  const open = async (file: File) => {
    clearTrouble(root);
    text.textContent = `Reading ${file.name} …`;
    try {
      const kept = await api.upload<{id: string}>(`recordings?name=${encodeURIComponent(file.name)}`, file);
      location.href = api.address(`flame?recording=${encodeURIComponent(kept.id)}`);
    } catch (error) {
      text.textContent = 'Open another trace:';
      showTrouble(root, messageOf(error));
    }
  };
  input.addEventListener('change', () => {
    if (input.files?.[0]) void open(input.files[0]);
  });
  label.addEventListener('dragover', (event) => event.preventDefault());
  label.addEventListener('drop', (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) void open(file);
  });
}

export const upload: View = {id: 'upload', title: 'Open a trace', start};
