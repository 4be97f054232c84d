import { render } from 'preact';
import { startAnnouncing } from './announce';
import { Announcer, Banners, connectionState } from './connection';
import { Header } from './header';
import { Help } from './help';
import { NoCluster } from './cluster-picker';
import { start, unknownCluster } from './page';
import { Content } from './pages';
import { Rail } from './rail';
import { startTheme } from './theme';

function App() {
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
      <Announcer />
    </>
  );
}

startTheme();
render(<App />, document.getElementById('app')!);
start();
startAnnouncing();
