// A Chromium page that records errors and forbidden requests.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.MUSTER_DASHBOARD, 'package.json'));
const { chromium } = require('playwright-core');

const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

export const launch = () =>
  chromium.launch({ executablePath: process.env.MUSTER_CHROMIUM, headless: true, args: flags });

export class WatchedPage {
  faults = [];
  serverIsDown = false; // while true, failed connections are expected
  mayRefuse; // matches addresses whose errors are expected

  static async open(browser, url, options = {}) {
    const watched = new WatchedPage();
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    watched.page = await context.newPage();
    watched.page.setDefaultTimeout(30_000);
    await watched.#listen(new URL(url).host);
    await watched.page.goto(url);
    return watched;
  }

  /** Opens a page from the navigation: an entry of the rail and, if needed, one of its tabs. */
  async navigate(entry, tab, click = (locator) => locator.click()) {
    await click(this.page.locator('.rail a', { hasText: entry }));
    if (tab) await click(this.page.locator('.tabs a', { hasText: tab }));
  }

  at(id, more = '') {
    return this.page.locator(`[data-testid="${id}"]${more}`);
  }

  /** Waits until the element's text matches. */
  async reads(id, pattern) {
    await this.at(id).filter({ hasText: pattern }).first().waitFor();
  }

  /** Waits until the element's first number is at least `least`. */
  async counts(id, least) {
    await this.page.waitForFunction(
      ([testid, n]) => {
        const text = document.querySelector(`[data-testid="${testid}"]`)?.textContent ?? '';
        return Number(text.replaceAll(',', '').match(/\d+(\.\d+)?/)?.[0] ?? -1) >= n;
      },
      [id, least],
    );
  }

  async #listen(host) {
    const { page } = this;
    page.on('pageerror', (e) => this.faults.push(`exception: ${e.message}`));
    page.on('console', (m) => {
      const connection = /ERR_CONNECTION|WebSocket connection|ERR_EMPTY_RESPONSE|503/.test(m.text());
      const { url } = m.location();
      const refused = /status of 4\d\d/.test(m.text()) && this.mayRefuse?.test(url);
      if (m.type() === 'error' && !refused && !(this.serverIsDown && connection))
        this.faults.push(`console: ${m.text()} ${url}`);
    });
    page.on('request', (r) => {
      const asked = new URL(r.url());
      if (asked.protocol !== 'data:' && asked.protocol !== 'blob:' && asked.host !== host)
        this.faults.push(`request to ${asked.host}`);
    });
    await page.exposeFunction('reportCspViolation', (text) => this.faults.push(`CSP: ${text}`));
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (e) =>
        window.reportCspViolation(`${e.violatedDirective} ${e.blockedURI}`),
      );
    });
  }
}
