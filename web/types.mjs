// Writes src/api/types.ts and src/api/fleet-types.ts: the answers and bodies that docs/openapi.json and docs/fleet-openapi.json
// describe, as TypeScript types.
//   node types.mjs        run by build.mjs and `npm run check`; the files are not kept in git
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const kReferences = '#/components/schemas/';

function nameOf(reference) {
  if (!reference.startsWith(kReferences)) throw new Error(`types.mjs: ${reference} is not below ${kReferences}`);
  return reference.slice(kReferences.length);
}

function typeOfOne(type, schema) {
  switch (type) {
    case 'null':
      return 'null';
    case 'boolean':
      return 'boolean';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
      return schema.enum ? schema.enum.map((one) => JSON.stringify(one)).join(' | ') : 'string';
    case 'array':
      return `Array<${typeOf(schema.items)}>`;
    case 'object':
      if (schema.properties) return `{\n${membersOf(schema)}}`;
      return `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties) : 'unknown'}>`;
    default:
      throw new Error(`types.mjs: unknown type ${type}`);
  }
}

function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (!schema.type) return 'unknown';
  return [schema.type].flat().map((type) => typeOfOne(type, schema)).join(' | ');
}

const unitText = (schema) => (schema['x-unit'] ? ` [${schema['x-unit']}]` : '');

function membersOf(schema) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties)
    .map(([name, member]) => `  ${name}${required.has(name) ? '' : '?'}: ${typeOf(member)}; // ${member.description ?? ''}${unitText(member)}\n`)
    .join('');
}

export function typesOf(document, source) {
  const parts = Object.entries(document.components.schemas).map(([name, schema]) => `// ${schema.description}\nexport interface ${name} {\n${membersOf(schema)}}\n`);
  return `// Made by web/types.mjs from docs/${source}: do not edit.\n\n${parts.join('\n')}`;
}

// Unchanged, it keeps its time: nothing is built anew because of it.
export function writeTypes() {
  for (const [source, name] of [['openapi.json', 'types.ts'], ['fleet-openapi.json', 'fleet-types.ts']]) {
    const text = typesOf(JSON.parse(readFileSync(join(folder, '../docs', source), 'utf8')), source);
    const file = join(folder, 'src/api', name);
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeTypes();
