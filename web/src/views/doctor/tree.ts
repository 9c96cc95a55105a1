// Findings with their consequences below them: what is because of another finding, or a part of it.
import type {Examination, Finding} from '../../api/types';
import {keysOf, shortId} from '../../ui/short-id';

export interface FindingNode {
  key: string; // the id; where several have it, with their first thread or object: "CS1302-t31"
  finding: Finding;
  consequences: FindingNode[];
}

// Which of several findings of one id it is, whatever their order.
function subjectOf({evidence, title}: Finding): string {
  if (evidence.threads.length) return `t${evidence.threads[0].osId}`;
  return shortId(evidence.objects[0]?.type ?? title); // objects move: their addresses are no names
}

// Ids that several findings of one report have.
export function sharedIds(...reports: Finding[][]): Set<string> {
  const idsOf = (findings: Finding[]) => findings.map((one) => one.id);
  return new Set(reports.flatMap((findings) => idsOf(findings).filter((id, index, all) => all.indexOf(id) !== index)));
}

// `shared`: of all reports whose findings are compared.
export function keyedFindings(findings: Finding[], shared = sharedIds(findings)): FindingNode[] {
  const keys = keysOf(findings, (one) => (shared.has(one.id) ? `${one.id}-${subjectOf(one)}` : one.id));
  return findings.map((finding, index) => ({key: keys[index].replace('\n', '-'), finding, consequences: []}));
}

const causeOf = (finding: Finding): string => finding.becauseOf || finding.partOf || '';

// In the order given, which is that of harm. A cause that is not among the findings is none.
export function findingTree(findings: Finding[]): FindingNode[] {
  const nodes = keyedFindings(findings);
  const byId = new Map<string, FindingNode>();
  for (const node of nodes) if (!byId.has(node.finding.id)) byId.set(node.finding.id, node);
  const isBelow = (node: FindingNode, cause: FindingNode): boolean => {
    const seen = new Set<FindingNode>();
    for (let at: FindingNode | undefined = cause; at && !seen.has(at); at = byId.get(causeOf(at.finding))) {
      if (at === node) return false; // they are the cause of each other
      seen.add(at);
    }
    return true;
  };
  return nodes.filter((node) => {
    const cause = byId.get(causeOf(node.finding));
    if (!cause || !isBelow(node, cause)) return true;
    cause.consequences.push(node);
    return false;
  });
}

export interface Changes {
  fresh: {node: FindingNode; wasChecked: boolean}[];
  gone: FindingNode[];
  still: {before: FindingNode; after: FindingNode}[];
  unchecked: FindingNode[]; // found before, and not looked for this time
}

export type Compared = Pick<Examination, 'findings' | 'examined'>;

export function changesBetween(earlier: Compared, later: Compared): Changes {
  const shared = sharedIds(earlier.findings, later.findings);
  const before = new Map(keyedFindings(earlier.findings, shared).map((node) => [node.key, node]));
  const after = keyedFindings(later.findings, shared);
  const keys = new Set(after.map((node) => node.key));
  const wasChecked = ({examined}: Compared, node: FindingNode) => examined.some((one) => one.id === node.finding.id && one.outcome !== 'notRun');
  const missing = [...before.values()].filter((node) => !keys.has(node.key));
  return {
    fresh: after.filter((node) => !before.has(node.key)).map((node) => ({node, wasChecked: wasChecked(earlier, node)})),
    gone: missing.filter((node) => wasChecked(later, node)),
    still: after.flatMap((node) => {
      const old = before.get(node.key);
      return old ? [{before: old, after: node}] : [];
    }),
    unchecked: missing.filter((node) => !wasChecked(later, node)),
  };
}
