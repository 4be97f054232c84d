import { outside } from '../shared/base';
import { effect } from '@preact/signals';
import { options, render } from 'preact';
import { startAnnouncing } from './announce';
import { Announcer, Banners, connectionState } from './connection';
import { Header } from './header';
import { Help } from './help';
import { NoCluster } from './no-cluster';
import { start, unknownCluster } from '../shared/page';
import { Content, Dialogs } from './pages';
import { startNotices } from './notices';
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
      <Dialogs />
      <Announcer />
    </>
  );
}

// User-defined names appear in <bdi> elements and titles. Characters that change the text direction are shown as code
// points. Links and images get the base path.
const before = options.vnode;
options.vnode = (vnode) => {
  const { type, props } = vnode as { type: unknown; props: { children?: unknown; title?: unknown; href?: unknown; src?: unknown } | null };
  if (typeof type === 'string' && typeof props?.title === 'string') props.title = unturned(props.title);
  if (type === 'a' && typeof props?.href === 'string') props.href = outside(props.href);
  if (type === 'img' && typeof props?.src === 'string') props.src = outside(props.src);
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
  startNotices();
});
