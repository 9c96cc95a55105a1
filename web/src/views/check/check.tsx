// What works here, in words, and what to do about the rest.
import type {ComponentChildren} from 'preact';
import type {Check, CheckedSource, CheckedVerb} from '../../api/types';
import {Remedies} from '../../ui/remedy';

const kWords: Record<CheckedSource['works'], string> = {yes: 'Yes', partly: 'Partly', no: 'No'};
const kSigns: Record<CheckedSource['works'], string> = {yes: '✔', partly: '◐', no: '✖'};

function Works({works}: {works: CheckedSource['works']}) {
  return (
    <span class={`works ${works}`}>
      <span aria-hidden="true">{kSigns[works]}</span> {kWords[works]}
    </span>
  );
}

function Row({name, works, detail, hint, children}: {name: string; works: CheckedSource['works']; detail?: string; hint?: string; children?: ComponentChildren}) {
  return (
    <tr data-works={works}>
      <th scope="row">{name}</th>
      <td>
        <Works works={works} />
      </td>
      <td>
        {detail}
        {hint ? <p class="dim">{hint}</p> : null}
        {children}
      </td>
    </tr>
  );
}

function CheckTable({what, children}: {what: string; children: ComponentChildren}) {
  return (
    <table class="check">
      <thead>
        <tr>
          <th scope="col">{what}</th>
          <th scope="col">Works</th>
          <th scope="col">What it gives, or why not</th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

const kCpu: Record<string, string> = {machine: 'the kernel, for the whole machine', process: 'the kernel, for this process', runtime: 'the runtime’s own sampler'};
const kWaits: Record<string, string> = {stacks: 'with stacks', times: 'times only', none: 'not recorded'};

function verbDetail(verb: CheckedVerb, sources: CheckedSource[]): string {
  const uses = verb.uses.map((id) => sources.find((one) => one.id === id)?.source ?? id);
  return [uses.length ? `uses ${uses.join(', ')}` : '', verb.detail ?? ''].filter(Boolean).join('; ');
}

export function CheckView({check, pid}: {check: Check; pid: number}) {
  const {sources, verbs, rung} = check;
  const next = check.next.filter((one) => one.verb !== 'check'); // that is this page
  const bad = sources.filter((one) => one.works !== 'yes').length;
  return (
    <>
      <p class="lead">{bad ? `${sources.length - bad} of ${sources.length} sources work fully` : `All ${sources.length} sources work`}</p>
      <CheckTable what="Source">
        {sources.map((one) => (
          <Row key={one.id} name={one.source} works={one.works} detail={one.detail} hint={one.hint}>
            <Remedies remedies={one.next} pid={pid} />
          </Row>
        ))}
      </CheckTable>
      {verbs?.length ? (
        <>
          <h2>What each verb can use</h2>
          <CheckTable what="Verb">
            {verbs.map((one) => (
              <Row key={one.verb} name={one.verb} works={one.works} detail={verbDetail(one, sources)} hint={one.hint} />
            ))}
          </CheckTable>
        </>
      ) : null}
      {rung ? (
        <p>
          A recording of thread time here: CPU samples from {kCpu[rung.cpu] ?? rung.cpu}, {rung.kernelFrames ? 'with' : 'without'} kernel frames; waits {kWaits[rung.waits] ?? rung.waits}.
        </p>
      ) : null}
      {next.length || check.nextDetail ? (
        <>
          <h2>What to do next</h2>
          {check.nextDetail ? <p>{check.nextDetail}</p> : null}
          <Remedies remedies={next} pid={pid} />
        </>
      ) : null}
    </>
  );
}
