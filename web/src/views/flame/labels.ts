// Names of functions, shorter and shorter: arguments go first, then type arguments, then namespaces. The method goes last.
// What compilers add is taken away: "<PlaceAsync>d__4.MoveNext" is PlaceAsync, "finish_task_switch.isra.0" is finish_task_switch.

const kModule = /^[^\s()<>[\]!]+!(?=.)/; // "libcoreclr.so!fn_1f"
const kClone = /(?:\s*\[clone [^\]]*\]|\.(?:isra|constprop|part|lto_priv|llvm)\.\d+|\.cold(?:\.\d+)?|@@?[\w.]+)+$/;
const kOperator = /^operator(?:\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|->\*?|[<>]=?)|\s+(?:new|delete)(?:\[\])?|[^\w\s(<]{1,2}|(?=[\s<]))/;
const kOpening = '<[({';
const kClosing = '>])}';

interface Parts {
  path: string[]; // namespaces, types, and the method last; type arguments included
  mark: string; // what stands between them
}

function isWordStart(text: string, at: number): boolean {
  return at === 0 || !/\w/.test(text[at - 1]);
}

// Where the bracket at `open` ends; the end of the text if it does not.
function closingOf(text: string, open: number): number {
  let depth = 0;
  for (let i = open; i < text.length; ++i) {
    if (text[i] === '(') ++depth;
    else if (text[i] === ')' && --depth === 0) return i;
  }
  return text.length;
}

// Where the arguments begin, and the words before them. `(anonymous namespace)` and `operator()` are no arguments.
function partsOf(text: string): Parts {
  const isCpp = /::/.test(text);
  const mark = isCpp ? '::' : '.';
  const path: string[] = [];
  let word = '';
  let depth = 0;
  const next = () => {
    if (word) path.push(word);
    word = '';
  };
  for (let i = 0; i < text.length; ++i) {
    const letter = text[i];
    const operator = depth === 0 && letter === 'o' && isWordStart(text, i) ? kOperator.exec(text.slice(i)) : null;
    if (operator) {
      word += operator[0];
      i += operator[0].length - 1;
    } else if (depth === 0 && letter === '(') {
      const close = closingOf(text, i);
      if (!word && path.length === 0 && !text.startsWith('(anonymous', i)) {
        i = close; // "decltype (…) name"
        continue;
      }
      if (!/^(?: const)?::/.test(text.slice(close + 1, close + 9))) break; // the arguments
      if (text.startsWith('(anonymous', i)) word += text.slice(i, close + 1); // a namespace; others are arguments of an outer function
      i = close;
      if (text[i + 1] === ' ') i += ' const'.length;
    } else if (kOpening.includes(letter)) {
      ++depth;
      word += letter;
    } else if (kClosing.includes(letter)) {
      depth = Math.max(0, depth - 1);
      word += letter;
    } else if (depth > 0) word += letter;
    else if (isCpp && letter === ':' && text[i + 1] === ':') {
      next();
      ++i;
    } else if (letter === ' ' && !word.startsWith('operator')) {
      path.length = 0; // what came was the type that it returns
      word = '';
    } else if (!isCpp && letter === '.' && word && text[i + 1] === '.') {
      next(); // "Type..ctor"
    } else if (!isCpp && letter === '.' && word) next();
    else if (!isCpp && (letter === '+' || letter === '/') && word) next(); // a type in a type
    else word += letter;
  }
  next();
  return {path, mark};
}

// "List`1[System.Int32]" is List, "Byte[]" stays.
function withoutTypeArguments(word: string): string {
  if (word.startsWith('operator') || word.startsWith('(')) return word;
  const name = word.replace(/`\d+/g, '');
  const open = name.slice(1).search(/[<[{]/) + 1;
  if (open === 0) return name;
  const tail = /(?:\[,*\])+$/.exec(name)?.[0] ?? '';
  return name.slice(0, open) + tail;
}

// Compilers' names as people wrote them: of async methods, iterators, lambdas, local functions.
function asWritten(path: string[]): string[] {
  const written = path.filter((word, i) => i === path.length - 1 || !/^<>c(?:__DisplayClass[\w]*)?(?:`\d+.*|<.*)?$/.test(word));
  const last = written[written.length - 1];
  const machine = last === 'MoveNext' && written.length > 1 ? /^<(.+)>d(?:__\w+)?/.exec(written[written.length - 2]) : null;
  if (machine) return [...written.slice(0, -2), ...asWritten([machine[1]])];
  const program = /^<(\w+)>\$$/.exec(last); // statements outside of any method
  if (program) return [...written.slice(0, -1), program[1]];
  const local = /^<.*>g__([^|]+)\|/.exec(last);
  if (local) return [...written.slice(0, -1), local[1]];
  const lambda = /^<(.*)>b__\w+/.exec(last);
  if (lambda) return [...written.slice(0, -1), `${asWritten([lambda[1] || 'static'])[0]} lambda`];
  return written;
}

// From whole to the bare method; never empty. The first is the whole name, or as it was written.
export function labelForms(whole: string): string[] {
  const plain = whole.replace(kModule, '').replace(kClone, '');
  if (!plain || /^[[?]/.test(plain)) return [whole];
  const {path, mark} = partsOf(plain);
  if (path.length === 0) return [whole];
  const written = asWritten(path);
  const isMadeUp = written.join('\n') !== path.join('\n');
  const bare = written.map(withoutTypeArguments);
  const joined = (words: string[]) => words.join(mark);
  const forms = [
    isMadeUp ? joined(written) : whole,
    joined(written),
    joined(written.slice(-2)),
    joined(bare.slice(-2)),
    bare[bare.length - 1],
  ].filter(Boolean);
  return forms.filter((form, i) => i === 0 || form.length < Math.min(...forms.slice(0, i).map((one) => one.length)));
}

// For tables: type and method first, then where they are. The whole name is the title.
export function tableLabel(whole: string): {label: string; context: string} {
  const plain = whole.replace(kModule, '').replace(kClone, '');
  if (!plain || /^[[?]/.test(plain)) return {label: whole, context: ''};
  const {path, mark} = partsOf(plain);
  if (path.length === 0) return {label: whole, context: ''};
  const written = asWritten(path);
  return {label: written.slice(-2).join(mark), context: written.slice(0, -2).join(mark)};
}

// What fits into so many characters.
export function fittingLabel(forms: string[], room: number): string {
  for (const form of forms) if (form.length <= room) return form;
  const last = forms[forms.length - 1];
  return room < 3 ? '' : `${last.slice(0, room - 1)}…`;
}
