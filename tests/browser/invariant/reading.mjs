// Reads the numbers of a page and compares them with the expected numbers.

/** The scripted cluster, and the functions with which the page formats numbers. The test sets them. */
export const on = {};

export const rest = (path) => on.cluster.get(`/api/v1/${path}`);
export const sum = (values) => values.reduce((a, b) => a + b, 0);
export const ended = ({ succeeded, failed, cancelled }) => succeeded + failed + cancelled;
export const short = (task) => task.replace(/^\/job:(.*)\/task:(\d+)$/, '$1:$2');

/** Returns the numbers of a text, and null if it does not match. A pattern has one group for each number. */
export function numbers(text, pattern) {
  const found = pattern.exec(text ?? '');
  return found && found.slice(1).map((n) => Number(n.replaceAll(',', '')));
}

/** Returns the range of ms that is shown as "35 µs", "1.2 ms", "43 s", "12m 05s", "3h 05m" or "1d 2h". */
export function range(text) {
  const less = /^< (\d+) (µs|ms)$/.exec(text);
  const units = { µs: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  if (less) return [0, Number(less[1]) * units[less[2]]];
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?) ?(µs|ms|s|m|h|d)(?= |$)/g)];
  if (parts.length === 0) return null;
  const [, last, unit] = parts.at(-1);
  const least = sum(parts.map(([, n, of]) => Number(n) * units[of]));
  return [least, least + units[unit] * (last.includes('.') ? 0.1 : 1)];
}

/** The numbers of one page, read once. */
export class Reading {
  compared = 0;
  differences = [];

  constructor(seen, page) {
    this.seen = seen;
    this.page = page;
  }

  /** Returns the text of an element, or an empty text if there is none. */
  async text(id, more = '') {
    return (await this.texts(id, more))[0] ?? '';
  }

  texts(id, more = '') {
    return this.all(`[data-testid="${id}"]${more}`);
  }

  all(selector) {
    return this.seen.page.evaluate((of) => [...document.querySelectorAll(of)].map((e) => (e.innerText ?? e.textContent).replace(/\s+/g, ' ').trim()), selector);
  }

  /** Returns the cells of the rows of a table or list, by the title of their column. */
  rows(selector, heads) {
    return this.seen.page.evaluate(
      ([rows, titles]) => {
        const text = (e) => e.innerText.replace(/\s+/g, ' ').trim();
        const names = titles && [...document.querySelectorAll(titles)].map((e) => text(e).replace(/ [↕↑↓]$/, ''));
        return [...document.querySelectorAll(rows)].map((row) => ({
          ...row.dataset,
          ...Object.fromEntries([...row.children].map((cell, n) => [names ? names[n] : (cell.dataset.title ?? String(n)), text(cell)])),
        }));
      },
      [selector, heads],
    );
  }

  /** Returns the facts of a description list, by name. */
  facts(selector) {
    return this.seen.page.evaluate((of) => Object.fromEntries([...document.querySelectorAll(`${of} dt`)].map((dt) => [dt.innerText.trim(), dt.nextElementSibling?.innerText.replace(/\s+/g, ' ').trim() ?? ''])), selector);
  }

  same(name, shown, expected) {
    ++this.compared;
    if (shown !== expected) this.differences.push({ page: this.page, name, shown, expected });
  }

  /** Compares the numbers that a pattern finds in a text with the expected ones. */
  counts(name, text, pattern, ...expected) {
    const shown = numbers(text, pattern);
    expected.forEach((n, at) => this.same(expected.length > 1 ? `${name}, number ${at + 1}` : name, shown ? shown[at] : text, n));
  }

  /** Compares a duration that can have grown since `least` was read. */
  lasts(name, text, least, most = least) {
    ++this.compared;
    const shown = range(text.replace(/ ago$/, ''));
    if (!shown || shown[0] > most + 0.0001 || shown[1] < least) this.differences.push({ page: this.page, name, shown: text, expected: least === most ? `${least} ms` : `${least} to ${most} ms` });
  }

  /** Compares the age of a time with the clock. The page shows the server's time, which its last message contained. */
  since(name, text, ms) {
    const now = Date.now();
    this.lasts(name, text, now - ms - 3000, now - ms + 1500);
  }
}
