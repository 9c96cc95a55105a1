// The routes of the API, from its own description.
import {CopyButton} from '../../ui/copy-button';
import {Fold, type OpenSet} from '../../ui/fold';

interface Schema {
  $ref?: string;
  type?: string | string[];
  items?: Schema;
}

interface Operation {
  summary?: string;
  'x-scope'?: string;
  parameters?: {name: string; in: string; required?: boolean; description?: string; schema?: Schema}[];
  requestBody?: {content: Record<string, {schema?: Schema}>};
  responses: Record<string, {content?: Record<string, {schema?: Schema}>}>;
}

// openapi.json, as far as it is shown.
export interface Description {
  info: {title: string; version: string};
  paths: Record<string, Record<string, Operation>>;
}

export interface RouteInfo {
  id: string; // "GET /processes"
  method: string;
  path: string;
  operation: Operation;
}

export function routesOf({paths}: Description): RouteInfo[] {
  return Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({id: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, operation})));
}

const kGroups: [string, RegExp][] = [
  ['Processes', /^\/(process|processes|watch|env|check)\b/],
  ['Doctor and stacks', /^\/(doctor|stacks)\b/],
  ['Live data', /^\/(counters|live|livemetrics|logs|exceptions|views|metrics)\b/],
  ['Recordings', /^\/(trace|sessions|recordings|flame|formats|profiles|providers|dump|gcdump|operations)\b/],
  ['Controller', /./],
];

export function grouped(routes: RouteInfo[]): [string, RouteInfo[]][] {
  const groups = kGroups.map(([title]): [string, RouteInfo[]] => [title, []]);
  for (const route of routes) groups[kGroups.findIndex(([, fits]) => fits.test(route.path))][1].push(route);
  return groups.filter(([, list]) => list.length);
}

function typeWords(schema: Schema | undefined): string {
  if (!schema) return '';
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.type === 'array') return `list of ${typeWords(schema.items)}`;
  return [schema.type ?? ''].flat().join(' or ');
}

function curlOf({method, path, operation}: RouteInfo, origin: string, pid: number): string {
  const isAboutProcess = operation.parameters?.some((one) => one.name === 'pid' && one.in === 'query');
  const address = `${origin}${path}${isAboutProcess && pid ? `?pid=${pid}` : ''}`;
  const body = operation.requestBody ? ` -H 'Content-Type: application/json' -d '{}'` : '';
  const accept = Object.values(operation.responses).some((one) => one.content?.['application/json']) ? ` -H 'Accept: application/json'` : '';
  return `curl${method === 'GET' ? '' : ` -X ${method}`} -H 'Authorization: Bearer KEY'${accept}${body} '${address}'`;
}

// Where a GET can be opened: it needs no value in its path, ends by itself, and changes nothing.
function openable({method, path, operation}: RouteInfo): boolean {
  return method === 'GET' && !path.includes('{') && Object.values(operation.responses).some((one) => one.content?.['application/json']) && path !== '/doctor';
}

interface RoutesProps {
  routes: RouteInfo[];
  open: OpenSet;
  origin: string; // with the base path
  pid: number; // fills ?pid=
}

export function Routes({routes, open, origin, pid}: RoutesProps) {
  return (
    <>
      {grouped(routes).map(([title, list]) => (
        <section key={title} class="routes" aria-label={title}>
          <h2>{title}</h2>
          {list.map((route) => (
            <Route key={route.id} route={route} open={open} origin={origin} pid={pid} />
          ))}
        </section>
      ))}
    </>
  );
}

function Route({route, open, origin, pid}: {route: RouteInfo} & Omit<RoutesProps, 'routes'>) {
  const {method, path, operation} = route;
  const curl = curlOf(route, origin, pid);
  const scope = operation['x-scope'] ?? '';
  const answers = Object.entries(operation.responses).flatMap(([status, one]) => {
    const types = Object.entries(one.content ?? {});
    return types.length ? types.map(([type, {schema}]) => ({status, type, words: typeWords(schema)})) : [{status, type: '', words: ''}];
  });
  const query = operation.parameters?.some((one) => one.name === 'pid' && one.in === 'query') && pid ? `?pid=${pid}&` : '?';
  const summary = (
    <>
      <code class="route">
        <b>{method}</b> {path}
      </code>{' '}
      <span class="route-words">{operation.summary}</span> <span class="dim">{scope === 'open' ? 'no key needed' : `scope ${scope}`}</span>
    </>
  );
  return (
    <Fold id={route.id} open={open} summary={summary}>
      {operation.parameters?.length ? (
        <table class="evidence-table">
          <caption>Parameters</caption>
          <tbody>
            {operation.parameters.map((one) => (
              <tr key={one.name}>
                <th scope="row" class="mono">
                  {one.name}
                </th>
                <td class="dim">
                  {one.in}, {typeWords(one.schema)}
                  {one.required ? ', needed' : ''}
                </td>
                <td>{one.description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
      {operation.requestBody ? (
        <p>
          Body:{' '}
          {Object.entries(operation.requestBody.content)
            .map(([type, {schema}]) => `${typeWords(schema)} as ${type}`)
            .join(', ')}
        </p>
      ) : null}
      <table class="evidence-table">
        <caption>Answers</caption>
        <tbody>
          {answers.map((one) => (
            <tr key={`${one.status} ${one.type}`}>
              <th scope="row">{one.status}</th>
              <td class="mono">{one.type}</td>
              <td>{one.words}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="command">
        <code>{curl}</code> <CopyButton text={curl} what="the command" />
      </p>
      {openable(route) ? (
        <p>
          <a class="button" href={`${origin}${path}${query}accept=application/json`} target="_blank" rel="noreferrer" data-outside>
            Open as JSON
          </a>
        </p>
      ) : null}
    </Fold>
  );
}
