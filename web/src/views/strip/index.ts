// The status strip: whether the controller answers, and what it uses itself.
import type {View} from '../../view';
import {formatBytes, formatNumber} from '../../ui/format';

interface Status {
  version: string;
  rssBytes: number;
  cpuMs: number;
  upMs: number;
  live?: {sessions: number; events: number; lost: number; followers: number};
}

const kEveryMs = 5000;

export const strip: View = {
  id: 'strip',
  title: 'Status',
  start(root, api) {
    const source = root.dataset.source ?? 'status';
    let last: {cpuMs: number; events: number; at: number} | undefined;
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
        const {live} = status;
        const rate = live && last ? Math.max(0, ((live.events - last.events) / (at - last.at)) * 1000) : 0;
        last = {cpuMs: status.cpuMs, events: live?.events ?? 0, at};
        const seen = live?.sessions ? [`${live.sessions} live session${live.sessions === 1 ? '' : 's'} in the process`, `${formatNumber(rate)} events/s`, `lost ${live.lost}`] : ['no live session in the process'];
        say(['connected', ...seen, `clrscope ${status.version} itself: ${cpu.toFixed(1)} % CPU, ${formatBytes(status.rssBytes)}`]);
      } catch {
        say(['not connected: what is shown stays; is clrscope serve still running?']);
      }
    };
    void ask();
    setInterval(() => void ask(), kEveryMs);
  },
};
