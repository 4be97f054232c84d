import { render } from 'preact';
import { startAnnouncing } from './announce';
import { Announcer, Banners, connectionState } from './connection';
import { Header } from './header';
import { Help } from './help';
import { Overview } from './overview';
import { Barriers } from './barriers';
import { Events } from './events';
import { JobsPage } from './jobs-page';
import { KeyValues } from './kv';
import { start } from './page';
import { Rail } from './rail';
import { page } from './route';
import { TasksPage } from './tasks-page';
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
        <Content />
      </main>
      <Help />
      <Announcer />
    </>
  );
}

function Content() {
  switch (page.value.path) {
    case '/':
      return <Overview />;
    case '/tasks':
      return <TasksPage />;
    case '/jobs':
      return <JobsPage />;
    case '/barriers':
      return <Barriers />;
    case '/kv':
      return <KeyValues />;
    case '/events':
      return <Events />;
  }
}

startTheme();
render(<App />, document.getElementById('app')!);
start();
startAnnouncing();
