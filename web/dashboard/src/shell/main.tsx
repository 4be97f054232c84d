import { effect } from '@preact/signals';
import { options, render } from 'preact';
import { startAnnouncing } from './announce';
import { Announcer, Banners, connectionState } from './connection';
import { Header } from './header';
import { Help } from './help';
import { NoCluster } from './no-cluster';
import { paletteOpen, start, unknownCluster } from '../shared/page';
import { Content } from './pages';
import { Lazy } from './lazy-dialog';
import { Rail } from './rail';
import { readSession } from '../shared/session';
import { isClosed, SignIn } from './sign-in';
import { startKeepingPlace } from './scroll';
import { startTheme } from '../shared/theme';
import { unturned } from '../shared/model/bidi';

function App() {
  if (isClosed()) return <SignIn />;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Rail />
      <main id="main" tabIndex={-1} data-conn={connectionState()}>
        <Header />
        <Banners />
        {unknownCluster.value ? <NoCluster /> : <Content />}
      </main>
      <Help />
      {paletteOpen.value && <Lazy />}
      <Announcer />
    </>
  );
}

// User-defined names appear in <bdi> elements and titles. Characters that change the text direction are shown as code
// points.
const before = options.vnode;
options.vnode = (vnode) => {
  const { type, props } = vnode as { type: unknown; props: { children?: unknown; title?: unknown } | null };
  if (typeof type === 'string' && typeof props?.title === 'string') props.title = unturned(props.title);
  if (type === 'bdi' && props) {
    const { children } = props;
    if (typeof children === 'string') props.children = unturned(children);
    else if (Array.isArray(children)) props.children = children.map((child: unknown) => (typeof child === 'string' ? unturned(child) : child));
  }
  before?.(vnode);
};

startTheme();
// Waits at most half a second for the session.
await Promise.race([readSession(), new Promise((done) => setTimeout(done, 500))]);
const root = document.getElementById('app')!;
root.replaceChildren(); // removes the placeholder in index.html
render(<App />, root);
let started = false;
effect(() => {
  if (isClosed() || started) return;
  started = true;
  start();
  startKeepingPlace();
  startAnnouncing();
  void import('./notices').then(
    ({ startNotices }) => startNotices(),
    () => {},
  ); // the page works normally without notifications
});
