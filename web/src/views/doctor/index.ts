// The doctor's form: begins a visit, tells how far it is, and opens its report.
import {type Api, messageOf} from '../../api/client';
import type {View} from '../../view';

interface Visit {
  id: string;
  state: string;
  error?: string;
}

const kPollMs = 400;
const later = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function visited(api: Api, id: string, onWait: () => void): Promise<Visit> {
  for (;;) {
    const visit = await api.get<Visit>(`doctor/reports/${encodeURIComponent(id)}`);
    if (visit.state !== 'running') return visit;
    onWait();
    await later(kPollMs);
  }
}

export const doctor: View = {
  id: 'doctor',
  title: 'Doctor',
  start(root, api) {
    const form = root as HTMLFormElement;
    const status = form.querySelector<HTMLElement>('[role="status"]')!;
    const button = form.querySelector('button')!;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const seconds = Number(new FormData(form).get('durationSeconds')) || 5;
      const began = Date.now();
      button.disabled = true;
      status.textContent = 'The doctor is looking …';
      const tick = () => {
        const passed = (Date.now() - began) / 1000;
        status.textContent = passed < seconds ? `The doctor is looking: ${passed.toFixed(0)} s of ${seconds}` : 'Collecting names, weighing the evidence …';
      };
      void (async () => {
        try {
          const begun = await api.post<Visit>(`doctor?pid=${form.dataset.pid}&durationSeconds=${seconds}`);
          const visit = await visited(api, begun.id, tick);
          if (visit.state === 'finished') location.assign(api.address(`doctor/reports/${encodeURIComponent(visit.id)}?pid=${form.dataset.pid}`));
          else status.textContent = `The visit failed: ${visit.error ?? visit.state}`;
        } catch (error) {
          const message = messageOf(error);
          status.textContent = [message.text, message.hint].filter(Boolean).join(' – ');
        }
        button.disabled = false;
      })();
    });
  },
};

// A report that is not there yet: opens when it is.
export const visit: View = {
  id: 'visit',
  title: 'Visit',
  async start(root, api) {
    const id = (root.dataset.source ?? '').split('/').pop() ?? '';
    const before = await api.get<Visit>(`doctor/reports/${id}`);
    if (before.state !== 'running') return;
    await visited(api, decodeURIComponent(id), () => {});
    location.reload();
  },
};
