// All locks that are held or waited for. Links to a lock lead here.
import type {Lock} from '../../api/types';
import {type Column, Table} from '../../ui/table';
import {Marked, ThreadLink} from './words';

const columns: Column<Lock>[] = [
  {id: 'object', title: 'Lock', value: (lock) => lock.object, show: (lock) => <span id={`l${lock.object}`}><Marked text={lock.object} /></span>, as: 'code'},
  {id: 'type', title: 'Type', value: (lock) => lock.type, show: (lock) => <Marked text={lock.type || '?'} />, as: 'code'},
  {id: 'kind', title: 'Kind', value: (lock) => lock.kind},
  {id: 'owner', title: 'Held by', value: (lock) => lock.ownerOsId ?? 0, show: (lock) => (lock.ownerOsId ? <ThreadLink osId={lock.ownerOsId} /> : <span class="dim">not known</span>)},
  {id: 'waiters', title: 'Waiting', value: (lock) => lock.waiters.length, as: 'number'},
  {id: 'who', title: 'Who waits', value: (lock) => lock.waiters.join(' '), show: (lock) => <Waiters ids={lock.waiters} />},
];

function Waiters({ids}: {ids: number[]}) {
  return (
    <span class="waiters">
      {ids.map((osId) => (
        <a key={osId} href={`#t${osId}`}>
          {osId}
        </a>
      ))}
    </span>
  );
}

interface LocksProps {
  locks: Lock[];
  target: string; // address of the lock that the address points to
  open: boolean;
  setOpen: (open: boolean) => void;
}

export function Locks({locks, target, open, setOpen}: LocksProps) {
  if (!locks.length) return null;
  const sorted = [...locks].sort((a, b) => b.waiters.length - a.waiters.length);
  return (
    <details
      class="locks"
      open={open}
      onToggle={(event) => {
        if (event.currentTarget.open !== open) setOpen(event.currentTarget.open);
      }}
    >
      <summary>
        {locks.length === 1 ? '1 lock is' : `${locks.length} locks are`} held or waited for
      </summary>
      <Table id="locks" caption="Locks" rows={sorted} columns={columns} rowKey={(lock) => lock.object} rowClass={(lock) => (lock.object === target ? 'target' : '')} most={100_000} />
    </details>
  );
}
