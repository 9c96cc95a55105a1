// The process picker: the chosen process is in the address, so page and picker never disagree.
import type {Page} from '../page';
import {processLabel, useProcesses} from './processes';
import {addressOf, open} from './router';

export function Picker({page, pid}: {page?: Page; pid: number}) {
  const {data = [], at, refresh} = useProcesses();
  const path = page?.about ? page.path : '/overview';
  const isKnown = data.some((one) => one.pid === pid);
  return (
    <div class="picker">
      <label for="picker">Process</label>
      <select
        id="picker"
        value={pid ? String(pid) : ''}
        onFocus={refresh}
        onChange={(event) => {
          const chosen = Number(event.currentTarget.value);
          open(chosen ? addressOf(path, {pid: chosen}) : addressOf('/'));
        }}
      >
        <option value="">{data.length || !at ? 'choose a process' : 'no .NET process is running'}</option>
        {data.map((one) => (
          <option key={one.pid} value={String(one.pid)}>
            {processLabel(one)}
            {one.reachable ? '' : ', not reachable'}
          </option>
        ))}
        {pid && !isKnown ? <option value={String(pid)}>{at ? `${pid} (exited)` : pid}</option> : null}
      </select>
    </div>
  );
}
