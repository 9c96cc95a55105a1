// Any report, as it comes: its facts in one list, each of its arrays as a table that can be sorted.
import {formatNumber} from '../../ui/format';
import {placeOf} from '../../ui/frames';
import {Notice} from '../../ui/state';
import {type Column, Table} from '../../ui/table';
import {Time} from '../../ui/time';
import {columnsOf, type Fields, isFields, isTable, linesOf, titleOfField, valueWords} from './fields';

const kQuality = ['lost', 'damaged', 'truncated']; // said in words above the rest

interface ReportProps {
  name: string;
  data: Fields;
  without?: string[]; // fields that are shown elsewhere
  isWhole: boolean; // all rows
  onWhole: () => void;
}

const kRows = 200;

export function ReportView({name, data, without = [], isWhole, onWhole}: ReportProps) {
  const entries = Object.entries(data).filter(([field]) => !kQuality.includes(field) && !without.includes(field));
  const tables = entries.filter(([, value]) => isTable(value));
  const facts = entries.filter(([, value]) => !isTable(value) && !(Array.isArray(value) && !value.length) && value !== null && value !== '');
  const arrays = entries.filter(([, value]) => Array.isArray(value));
  const isEmpty = arrays.length > 0 && arrays.every(([, value]) => (value as unknown[]).length === 0);
  const isCut = !isWhole && tables.some(([, value]) => (value as Fields[]).length > kRows);
  return (
    <div data-report={name}>
      <Quality data={data} />
      <dl class="facts-list">
        {facts.flatMap(([field, value]) => (isFields(value) ? Object.entries(value).map(([below, one]) => <Fact key={`${field}.${below}`} name={below} title={`${titleOfField(field)}: ${titleOfField(below).toLowerCase()}`} value={one} />) : <Fact key={field} name={field} title={titleOfField(field)} value={value} />))}
      </dl>
      {isEmpty ? <Notice>There is nothing of this kind in the recording.</Notice> : null}
      {isCut ? (
        <p>
          <button type="button" onClick={onWhole}>
            Show all rows
          </button>
        </p>
      ) : null}
      {tables.map(([field, rows]) => (
        <ReportTable key={field} id={`${name}-${field}`} title={titleOfField(field)} rows={rows as Fields[]} most={isWhole ? Infinity : kRows} />
      ))}
    </div>
  );
}

function Fact({name, title, value}: {name: string; title: string; value: unknown}) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{typeof value === 'string' && /Time$/.test(name) ? <Time iso={value} /> : Array.isArray(value) ? value.join(', ') : valueWords(name, value)}</dd>
    </div>
  );
}

function Quality({data}: {data: Fields}) {
  const {lost, damaged, truncated} = data;
  return (
    <>
      {lost ? <Notice kind="trouble">{formatNumber(Number(lost))} events were lost while recording: the numbers below are too small by that.</Notice> : null}
      {damaged ? <Notice kind="trouble">{formatNumber(Number(damaged))} places in the file could not be read.</Notice> : null}
      {truncated ? <Notice kind="trouble">The end of the file is missing.</Notice> : null}
    </>
  );
}

function ReportTable({id, title, rows, most}: {id: string; title: string; rows: Fields[]; most: number}) {
  return <Table id={id} caption={`${title}: ${formatNumber(rows.length)} ${rows.length === 1 ? 'row' : 'rows'}`} rows={rows} columns={columnsOf(rows).map((name) => columnOf(name, rows))} most={most} />;
}

function columnOf(name: string, rows: Fields[]): Column<Fields> {
  const sample = rows.find((row) => row[name] !== null && row[name] !== undefined)?.[name];
  if (typeof sample === 'number') return {id: name, title: titleOfField(name), value: (row) => row[name] as number | null, show: (row) => valueWords(name, row[name]), as: 'number'};
  if (name === 'file') return {id: name, title: 'Place', value: (row) => placeOf(row as {file?: string; line?: number}), as: 'code'};
  if (typeof sample === 'object') return {id: name, title: titleOfField(name), value: (row) => linesOf(row[name] ?? []).length, show: (row) => <Nested value={row[name]} />};
  const isCode = ['method', 'type', 'module', 'message', 'name', 'provider'].includes(name);
  return {id: name, title: titleOfField(name), value: (row) => valueWords(name, row[name]), as: isCode ? 'code' : 'text'};
}

function Nested({value}: {value: unknown}) {
  const lines = value === null || value === undefined ? [] : linesOf(value);
  if (lines.length <= 1) return <span class="mono nested">{lines[0] ?? ''}</span>;
  return (
    <details class="nested">
      <summary>{lines.length} entries</summary>
      {lines.map((line, index) => (
        <div key={index} class="mono">
          {line}
        </div>
      ))}
    </details>
  );
}
