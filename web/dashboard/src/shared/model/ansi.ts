// Parses terminal output: colours become class names, other control sequences are removed. Never produces markup, and takes
// linear time for any input.

interface Run {
  text: string;
  style: string; // class names, empty for plain text
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
const MAX_RUNS = 500; // maximum number for each text; the remaining text keeps the last style

interface Style {
  colour: string;
  ground: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const plain = (): Style => ({ colour: '', ground: '', bold: false, dim: false, italic: false, underline: false });

function classes(style: Style): string {
  const names = [];
  if (style.colour) names.push(`a-${style.colour}`);
  if (style.ground) names.push(`b-${style.ground}`);
  for (const key of ['bold', 'dim', 'italic', 'underline'] as const) if (style[key]) names.push(`a-${key}`);
  return names.join(' ');
}

// Applies colour parameters such as "1;31". Backgrounds are tints, so that text stays readable; 24-bit colours are
// ignored.
function apply(style: Style, parameters: string): Style {
  let next = style;
  const codes = parameters === '' ? [0] : parameters.slice(0, 100).split(/[;:]/).map(Number);
  for (let n = 0; n < codes.length; ++n) {
    const code = codes[n]!;
    if (code === 0) next = plain();
    else if (code === 1) next = { ...next, bold: true };
    else if (code === 2) next = { ...next, dim: true };
    else if (code === 3) next = { ...next, italic: true };
    else if (code === 4) next = { ...next, underline: true };
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 23) next = { ...next, italic: false };
    else if (code === 24) next = { ...next, underline: false };
    else if (code >= 30 && code <= 37) next = { ...next, colour: COLOURS[code - 30]! };
    else if (code >= 90 && code <= 97) next = { ...next, colour: COLOURS[code - 90]! };
    else if (code >= 40 && code <= 47) next = { ...next, ground: COLOURS[code - 40]! };
    else if (code >= 100 && code <= 107) next = { ...next, ground: COLOURS[code - 100]! };
    else if (code === 39) next = { ...next, colour: '' };
    else if (code === 49) next = { ...next, ground: '' };
    else if (code === 38 || code === 48) {
      const indexed = codes[n + 1] === 5;
      if (code === 38 && indexed && codes[n + 2]! < 16) next = { ...next, colour: COLOURS[codes[n + 2]! % 8]! };
      n += indexed ? 2 : codes[n + 1] === 2 ? 4 : 1;
    }
  }
  return next;
}

// Returns the end of the sequence that begins at `at`, and its parameters if it sets colours, otherwise null.
function sequence(text: string, at: number): { end: number; colours: string | null } {
  const c1 = text[at] !== '\u001b';
  const kind = c1 ? String.fromCharCode(text.charCodeAt(at) - 0x40) : (text[at + 1] ?? '');
  let end = at + (c1 ? 1 : 2);
  if (kind === '[') {
    const from = end;
    while (end < text.length && text[end]! >= ' ' && text[end]! <= '?') ++end;
    return { end: end + 1, colours: text[end] === 'm' && /^[0-9;:]*$/.test(text.slice(from, end)) ? text.slice(from, end) : null };
  }
  if (kind === ']' || kind === 'P' || kind === '^' || kind === '_' || kind === 'X') {
    while (end < text.length && text[end] !== '\u0007' && text[end] !== '\u009c' && text[end] !== '\u001b') ++end;
    return { end: text[end] === '\u001b' && text[end + 1] === '\\' ? end + 2 : Math.min(text.length, text[end] === '\u001b' ? end : end + 1), colours: null };
  }
  if (!c1 && (kind === '(' || kind === ')' || kind === '#' || kind === ' ')) return { end: end + 1, colours: null }; // character sets
  return { end, colours: null };
}

// Returns the visible part of a line that a progress bar overwrites with carriage returns.
function overwritten(line: string): string {
  const whole = line.endsWith('\r') ? line.slice(0, -1) : line;
  return whole.slice(whole.lastIndexOf('\r') + 1);
}

export function runs(printed: string): Run[] {
  if (!CONTROL.test(printed)) return printed ? [{ text: printed, style: '' }] : [];
  const text = printed.split('\n').map(overwritten).join('\n');
  const found: Run[] = [];
  let style = plain();
  let held = '';
  const push = () => {
    if (!held) return;
    const name = classes(style);
    const last = found.at(-1);
    if (last && (last.style === name || found.length >= MAX_RUNS)) last.text += held;
    else found.push({ text: held, style: name });
    held = '';
  };
  for (let at = 0; at < text.length; ) {
    const c = text[at]!;
    if (c === '\u001b' || (c >= '\u0080' && c <= '\u009f')) {
      const { end, colours } = sequence(text, at);
      if (colours !== null) {
        push();
        style = apply(style, colours);
      }
      at = end;
    } else {
      if (!CONTROL.test(c)) held += c;
      ++at;
    }
  }
  push();
  return found;
}

// Returns the text without styles.
export const bare = (text: string): string =>
  runs(text)
    .map((run) => run.text)
    .join('');
