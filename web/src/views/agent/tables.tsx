// What the sources of the agent have told: a table for each, with the stacks of the rows that are open.
import type {ComponentChildren} from 'preact';
import type {AgentAllocations, AgentContention, AgentExceptions, AgentSurvivors} from '../../api/types';
import {Fold, type OpenSet} from '../../ui/fold';
import {formatBytes, formatMs, formatNumber} from '../../ui/format';
import {type Column, Table} from '../../ui/table';
import {Wrapped} from '../../ui/wrapped';

interface Part<T> {
  data: T;
  open: OpenSet;
}

// A name that unfolds the stack behind it, in its own row: it stays there whatever else comes.
function Named({id, name, stack, open}: {id: string; name: string; stack: string[]; open: OpenSet}) {
  if (!stack.length) return <Wrapped text={name} />;
  return (
    <Fold id={id} open={open} summary={<Wrapped text={name} />}>
      <ol class="frames">
        {stack.map((method, index) => (
          <li key={index}>
            <code>{method}</code>
          </li>
        ))}
      </ol>
    </Fold>
  );
}

function Section({id, lead, children}: {id: string; lead: string; children: ComponentChildren}) {
  return (
    <section data-seen={id}>
      <p>{lead}</p>
      {children}
    </section>
  );
}

export function ThrownExceptions({data, open}: Part<AgentExceptions>) {
  const columns: Column<AgentExceptions['byType'][number]>[] = [
    {id: 'count', title: 'Count', value: (row) => row.count, show: (row) => formatNumber(row.count), as: 'number'},
    {id: 'type', title: 'Type', value: (row) => row.type, show: (row) => <Named id={`e:${row.type}`} name={row.type} stack={row.stack} open={open} />, as: 'code'},
    {id: 'catch', title: 'To catch', value: (row) => row.meanToCatchMs, show: (row) => (row.meanToCatchMs == null ? '' : formatMs(row.meanToCatchMs)), as: 'number'},
    {id: 'thrown', title: 'Thrown in', value: (row) => row.thrownIn[0]?.method, as: 'code'},
    {id: 'caught', title: 'Caught in', value: (row) => row.caughtIn[0]?.method, as: 'code'},
  ];
  return (
    <Section id="exceptions" lead={`${formatNumber(data.exceptions)} exceptions in ${formatMs(data.durationMs)}.`}>
      <Table id="thrown" caption="Exceptions by type" rows={data.byType} columns={columns} rowKey={(row) => row.type} isLive />
    </Section>
  );
}

export function LockWaitsSeen({data, open}: Part<AgentContention>) {
  const columns: Column<AgentContention['sites'][number]>[] = [
    {id: 'waited', title: 'Waited', value: (row) => row.waitMs, show: (row) => formatMs(row.waitMs), as: 'number'},
    {id: 'count', title: 'Waits', value: (row) => row.count, show: (row) => formatNumber(row.count), as: 'number'},
    {id: 'longest', title: 'Longest', value: (row) => row.longestMs, show: (row) => formatMs(row.longestMs), as: 'number'},
    {id: 'method', title: 'Method', value: (row) => row.method, show: (row) => <Named id={`c:${row.method}`} name={row.method} stack={row.stack} open={open} />, as: 'code'},
    {id: 'owner', title: 'Thread that had it', value: (row) => row.owners[0]?.osId, as: 'number'},
  ];
  return (
    <Section id="contention" lead={`${formatNumber(data.contentions)} waits for locks in ${formatMs(data.durationMs)}; threads waited ${formatMs(data.waitMs)} in total.`}>
      <Table id="waits" caption="Waits for locks by method" rows={data.sites} columns={columns} rowKey={(row) => row.method} isLive />
    </Section>
  );
}

export function AllocationsSeen({data, open}: Part<AgentAllocations>) {
  const columns: Column<AgentAllocations['types'][number]>[] = [
    {id: 'bytes', title: 'Bytes', value: (row) => row.bytes, show: (row) => formatBytes(row.bytes), as: 'number'},
    {id: 'samples', title: 'Samples', value: (row) => row.samples, show: (row) => formatNumber(row.samples), as: 'number'},
    {id: 'type', title: 'Type', value: (row) => row.type, show: (row) => <Named id={`a:${row.type}`} name={row.type} stack={row.stack} open={open} />, as: 'code'},
    {id: 'method', title: 'Allocated in', value: (row) => row.sites[0]?.method, as: 'code'},
  ];
  return (
    <Section id="allocations" lead={`About ${formatBytes(data.bytes)} allocated in ${formatMs(data.durationMs)}, estimated from ${formatNumber(data.samples)} samples.`}>
      <Table id="allocated" caption="Allocations by type" rows={data.types} columns={columns} rowKey={(row) => row.type} isLive />
    </Section>
  );
}

export function SurvivorsSeen({data, open}: Part<AgentSurvivors>) {
  const columns: Column<AgentSurvivors['places'][number]>[] = [
    {id: 'two', title: 'Survived two', value: (row) => row.survivedTwoBytes, show: (row) => formatBytes(row.survivedTwoBytes), as: 'number'},
    {id: 'one', title: 'Survived one', value: (row) => row.survivedOneBytes, show: (row) => formatBytes(row.survivedOneBytes), as: 'number'},
    {id: 'bytes', title: 'Allocated', value: (row) => row.bytes, show: (row) => formatBytes(row.bytes), as: 'number'},
    {id: 'type', title: 'Type', value: (row) => row.type, show: (row) => <Named id={`s:${row.type}:${row.method}`} name={row.type} stack={row.stack} open={open} />, as: 'code'},
    {id: 'method', title: 'Allocated in', value: (row) => row.method, as: 'code'},
  ];
  const lead = data.collections
    ? `${formatNumber(data.samples)} sampled objects in ${formatNumber(data.collections)} garbage collections: of about ${formatBytes(data.bytes)}, ${formatBytes(data.survivedOneBytes)} survived one and ${formatBytes(data.survivedTwoBytes)} survived two.`
    : `${formatNumber(data.samples)} sampled objects; no garbage collection has finished yet.`;
  return (
    <Section id="survivors" lead={lead}>
      <Table id="survived" caption="What survived, by type and method" rows={data.places} columns={columns} rowKey={(row) => `${row.type} ${row.method}`} isLive />
    </Section>
  );
}
