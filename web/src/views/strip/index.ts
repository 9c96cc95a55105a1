// The status strip: whether the controller answers, and what it uses itself.
import type {View} from '../../view';
import {formatBytes} from '../../ui/format';

interface Status {
  version: string;
  rssBytes: number;
  cpuMs: number;
  upMs: number;
}

const kEveryMs = 5000;

export const strip: View = {
  id: 'strip',
  title: 'Status',
  start(root, api) {
    const source = root.dataset.source ?? 'status';
    let last: {cpuMs: number; at: number} | undefined;
    const say = (words: string[]) => {
      root.replaceChildren(
        ...words.map((word) => {
          const part = document.createElement('span');
          part.textContent = word;
          return part;
        }),
      );
    };
    const ask = async () => {
      if (document.hidden) return;
      try {
        const status = await api.get<Status>(source);
        const at = performance.now();
        const cpu = last ? ((status.cpuMs - last.cpuMs) / (at - last.at)) * 100 : (status.cpuMs / Math.max(1, status.upMs)) * 100;
        last = {cpuMs: status.cpuMs, at};
        say(['connected', `clrscope ${status.version} itself: ${cpu.toFixed(1)} % CPU, ${formatBytes(status.rssBytes)}`]);
      } catch {
        say(['not connected: what is shown stays; is clrscope serve still running?']);
      }
    };
    void ask();
    setInterval(() => void ask(), kEveryMs);
  },
};
