// Findings as cards in order of harm: what is wrong, how sure, what to do; evidence and consequences unfold.
import type {ComponentChildren} from 'preact';
import type {Finding, FindingInfo} from '../../api/types';
import {useScope} from '../../frame/processes';
import {addressOf} from '../../frame/router';
import {CopyButton} from '../../ui/copy-button';
import {Fold, type OpenSet} from '../../ui/fold';
import {placeOf, Remedies} from '../../ui/remedy';
import {Evidence, evidenceWords} from './evidence';
import {placesOf} from './places';
import {type FindingNode, findingTree} from './tree';

const kSigns: Record<Finding['severity'], string> = {error: '✖', warning: '⚠', info: 'ℹ'};
const kWords: Record<Finding['severity'], string> = {error: 'error', warning: 'warning', info: 'note'};

interface CardsProps {
  findings: Finding[];
  open: OpenSet; // evidence by key, consequences by "key+", explanations by "key?"
  pid: number; // for links; 0 in a file that knows no server
  isGone?: boolean; // the process has ended: no page shows more of it
  infos?: FindingInfo[]; // explains ids
  sinceOf?: (finding: Finding) => ComponentChildren; // "since 12:03:11, 5 min ago"; null: unknown
}

export function FindingCards({findings, ...rest}: CardsProps) {
  return (
    <>
      {findingTree(findings).map((node) => (
        <Card key={node.key} node={node} {...rest} />
      ))}
    </>
  );
}

export function SeverityMark({severity}: {severity: Finding['severity']}) {
  return (
    <span class={`mark ${severity}`} aria-hidden="true">
      {kSigns[severity]}
    </span>
  );
}

function Card({node, open, pid, isGone, infos, sinceOf}: {node: FindingNode} & Omit<CardsProps, 'findings'>) {
  const {key, finding, consequences} = node;
  const info = infos?.find((one) => one.id === finding.id);
  const evidence = evidenceWords(finding.evidence);
  const since = sinceOf?.(finding);
  const cause = finding.becauseOf ? `because of ${finding.becauseOf}` : finding.partOf ? `part of ${finding.partOf}` : '';
  return (
    <section class={`card finding ${finding.severity}`} id={key} data-finding={finding.id}>
      <h2>
        <SeverityMark severity={finding.severity} /> {finding.title}{' '}
        <span class="dim tag">
          {kWords[finding.severity]} · {finding.confidence} · {finding.id}
          {cause ? ` · ${cause}` : ''}
        </span>
      </h2>
      {since ? (
        <p class="dim" data-since>
          {since}
        </p>
      ) : null}
      {finding.summary ? <p>{finding.summary}</p> : null}
      {finding.advice ? (
        <p>
          <b>Do:</b> {finding.advice} <CopyButton text={finding.advice} what="the advice" />
        </p>
      ) : null}
      {pid && !isGone ? <Places finding={finding} pid={pid} /> : <Remedies remedies={finding.next} pid={pid} asText={!pid} />}
      {evidence ? (
        <Fold id={key} open={open} summary={`Evidence: ${evidence}`}>
          <Evidence evidence={finding.evidence} pid={pid} />
        </Fold>
      ) : null}
      {consequences.length ? (
        <Fold id={`${key}+`} open={open} class="consequences" summary={`${consequences.length === 1 ? 'Consequence' : `${consequences.length} consequences`}: ${consequences.map((one) => one.finding.title).join('; ')}`}>
          {consequences.map((one) => (
            <Card key={one.key} node={one} open={open} pid={pid} isGone={isGone} infos={infos} sinceOf={sinceOf} />
          ))}
        </Fold>
      ) : null}
      {info ? (
        <Fold id={`${key}?`} open={open} summary={`About ${finding.id}`}>
          <p>
            <b>{info.name}.</b> {info.description}
          </p>
          <p class="dim">
            More: <code>{finding.docs}</code>
          </p>
        </Fold>
      ) : null}
    </section>
  );
}

// Its evidence first, then what else shows more; what no page can do is a command.
function Places({finding, pid}: {finding: Finding; pid: number}) {
  const isTracing = useScope('trace');
  const isReadingMemory = useScope('memory');
  const places = placesOf(finding, pid, (scope) => (scope === 'trace' ? isTracing : isReadingMemory));
  return (
    <>
      <p class="bar places">
        {places.map(({words, path, query, hash}, index) => (
          <a key={words} class={index ? 'button' : 'button main'} href={addressOf(path, query) + (hash ?? '')} data-evidence={index ? undefined : finding.id}>
            {words}
          </a>
        ))}
      </p>
      <Remedies remedies={finding.next?.filter((one) => !placeOf(one, pid))} pid={pid} />
    </>
  );
}
