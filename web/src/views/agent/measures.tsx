// What is measured once, for a while: the runtime, methods by probes in their code, and the heap by type.
import {useState} from 'preact/hooks';
import {problemOf, useApi} from '../../api/answer';
import type {Problem} from '../../api/client';
import type {AgentHeap, AgentMethods, AgentRuntime} from '../../api/types';
import {formatBytes, formatMs, formatNumber} from '../../ui/format';
import {Notice, Trouble} from '../../ui/state';
import {type Column, Table} from '../../ui/table';

interface Measured {
  runtime?: AgentRuntime;
  methods?: AgentMethods;
  heap?: AgentHeap;
}

const kSeconds = 5;

export function Measures({pid, isFixed}: {pid: number; isFixed: boolean}) {
  const api = useApi();
  const [seen, setSeen] = useState<Measured>({});
  const [busy, setBusy] = useState('');
  const [problem, setProblem] = useState<Problem>();
  const [include, setInclude] = useState('');
  const run = async (words: string, ask: () => Promise<Measured>) => {
    setBusy(words);
    setProblem(undefined);
    try {
      const more = await ask();
      setSeen((before) => ({...before, ...more}));
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy('');
  };
  const runtime = () => run(`Listening for ${kSeconds} s …`, async () => ({runtime: await api.get<AgentRuntime>(`agent/runtime?pid=${pid}&durationSeconds=${kSeconds}`)}));
  const methods = () =>
    run(`Measuring for ${kSeconds} s …`, async () => ({
      methods: await api.post<AgentMethods>(`agent/methods?pid=${pid}&durationSeconds=${kSeconds}&include=${encodeURIComponent(include)}`),
    }));
  const heap = () => run('Counting objects …', async () => ({heap: await api.post<AgentHeap>(`agent/heap?pid=${pid}`)}));
  const isOff = isFixed || !!busy;
  return (
    <section aria-label="Measure once" data-measures>
      <h2>Measure once</h2>
      <p class="bar">
        <button type="button" disabled={isOff} onClick={() => void runtime()}>
          Runtime
        </button>
        <button type="button" disabled={isOff} onClick={() => void heap()} title="Pauses the process, about 1.5 ms for each MB of its heap">
          Heap
        </button>
        <span class="dim" role="status">
          {busy}
        </span>
      </p>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          void methods();
        }}
      >
        <label>
          Methods to measure <input type="text" value={include} placeholder="Shop.Orders" onInput={(event) => setInclude(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={isOff || !include.trim()}>
          Measure
        </button>
        <span class="dim">Changes their code meanwhile; the agent then stays in the process until it ends.</span>
      </form>
      {problem ? <Trouble problem={problem} /> : null}
      {seen.runtime ? <RuntimeSeen data={seen.runtime} /> : null}
      {seen.methods ? <MethodsSeen data={seen.methods} /> : null}
      {seen.heap ? <HeapSeen data={seen.heap} /> : null}
    </section>
  );
}

function RuntimeSeen({data}: {data: AgentRuntime}) {
  const suspensions: Column<AgentRuntime['longestSuspensions'][number]>[] = [
    {id: 'length', title: 'Length', value: (row) => row.lengthMs, show: (row) => formatMs(row.lengthMs), as: 'number'},
    {id: 'reason', title: 'Reason', value: (row) => row.reason},
  ];
  const compiled: Column<AgentRuntime['slowestMethods'][number]>[] = [
    {id: 'total', title: 'Time', value: (row) => row.totalMs, show: (row) => formatMs(row.totalMs), as: 'number'},
    {id: 'count', title: 'Compilations', value: (row) => row.count, show: (row) => formatNumber(row.count), as: 'number'},
    {id: 'method', title: 'Method', value: (row) => row.method, as: 'code'},
  ];
  return (
    <section data-seen="runtime">
      <h3>Runtime</h3>
      <p>
        {formatNumber(data.collections)} collections, {formatNumber(data.suspensions)} suspensions ({formatMs(data.suspendedMs)} in total), {formatNumber(data.threadsStarted)} threads started,{' '}
        {formatNumber(data.modulesLoaded)} modules and {formatNumber(data.classesLoaded)} classes loaded, {formatNumber(data.methodsCompiled)} methods compiled in {formatMs(data.durationMs)}.
      </p>
      <Table id="suspensions" caption="Longest suspensions" rows={data.longestSuspensions} columns={suspensions} rowKey={(row) => `${row.reason}${row.lengthMs}`} />
      <Table id="compiled" caption="Methods by time of the JIT compiler" rows={data.slowestMethods} columns={compiled} rowKey={(row) => row.method} />
    </section>
  );
}

function MethodsSeen({data}: {data: AgentMethods}) {
  const columns: Column<AgentMethods['methods'][number]>[] = [
    {id: 'calls', title: 'Calls', value: (row) => row.calls, show: (row) => formatNumber(row.calls), as: 'number'},
    {id: 'total', title: 'Total', value: (row) => row.totalMs, show: (row) => formatMs(row.totalMs), as: 'number'},
    {id: 'self', title: 'Self', value: (row) => row.selfMs, show: (row) => formatMs(row.selfMs), as: 'number'},
    {id: 'longest', title: 'Longest', value: (row) => row.longestMs, show: (row) => formatMs(row.longestMs), as: 'number'},
    {id: 'method', title: 'Method', value: (row) => row.method, as: 'code'},
  ];
  return (
    <section data-seen="methods">
      <h3>Methods</h3>
      {data.methods.length ? null : <Notice>None of these methods was called.</Notice>}
      <Table id="measured" caption="Calls and times of methods" rows={data.methods} columns={columns} rowKey={(row) => row.method} />
    </section>
  );
}

function HeapSeen({data}: {data: AgentHeap}) {
  const columns: Column<AgentHeap['types'][number]>[] = [
    {id: 'bytes', title: 'Bytes', value: (row) => row.bytes, show: (row) => formatBytes(row.bytes), as: 'number'},
    {id: 'count', title: 'Count', value: (row) => row.count, show: (row) => formatNumber(row.count), as: 'number'},
    {id: 'type', title: 'Type', value: (row) => row.type, as: 'code'},
  ];
  return (
    <section data-seen="heap">
      <h3>Heap</h3>
      <p>
        {formatNumber(data.objects)} objects, {formatBytes(data.bytes)}; the process was paused for {formatMs(data.pauseMs)}.
      </p>
      <Table id="objects" caption="Objects by type" rows={data.types} columns={columns} rowKey={(row) => row.type} />
    </section>
  );
}
