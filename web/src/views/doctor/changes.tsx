// Two reports of one process compared: what is new, gone, still there.
import type {ComponentChildren} from 'preact';
import type {Examination} from '../../api/types';
import {SeverityMark} from './findings';
import {changesBetween, type FindingNode} from './tree';

function Line({node, before, note}: {node: FindingNode; before?: FindingNode; note?: string}) {
  const {finding} = node;
  const old = before && [before.finding.severity === finding.severity ? '' : before.finding.severity, before.finding.title === finding.title ? '' : `“${before.finding.title}”`].filter(Boolean).join(', ');
  return (
    <li>
      <SeverityMark severity={finding.severity} /> {finding.title} <span class="dim">{finding.id}</span>
      {old ? <span class="dim"> (before: {old})</span> : null}
      {note ? <span class="dim"> ({note})</span> : null}
    </li>
  );
}

function Part({title, number, children}: {title: string; number: number; children: ComponentChildren}) {
  return (
    <section>
      <h3>
        {title}: {number}
      </h3>
      {number ? <ul class="list">{children}</ul> : null}
    </section>
  );
}

export function Changes({earlier, later}: {earlier: Examination; later: Examination}) {
  const {fresh, gone, still, unchecked} = changesBetween(earlier, later);
  return (
    <div class="changes" data-changes={[fresh, gone, still, unchecked].map((one) => one.length).join(',')}>
      <Part title="New" number={fresh.length}>
        {fresh.map(({node, wasChecked}) => (
          <Line key={node.key} node={node} note={wasChecked ? '' : 'not checked before'} />
        ))}
      </Part>
      <Part title="Gone" number={gone.length}>
        {gone.map((node) => (
          <Line key={node.key} node={node} />
        ))}
      </Part>
      <Part title="Still there" number={still.length}>
        {still.map(({before, after}) => (
          <Line key={after.key} node={after} before={before} />
        ))}
      </Part>
      {unchecked.length ? (
        <Part title="Not checked this time" number={unchecked.length}>
          {unchecked.map((node) => (
            <Line key={node.key} node={node} />
          ))}
        </Part>
      ) : null}
    </div>
  );
}
