/// The style sheet and the script of the page.
enum HTMLStyle {
  static let css: StaticString = """
    :root{color-scheme:light dark;--page:#f6f7f8;--card:#fff;--text:#1c1f23;--muted:#59616b;--line:#dde1e5;
    --link:#0b5cc4;--soft:#f0f2f4;--passed:#17702f;--failed:#b81d28;--warn:#855300;--other:#6539ac;--none:#59616b;
    --failed-soft:#fdf1f1;--failed-line:#efc4c6;--warn-soft:#fcf4e3;--warn-line:#ead6a6;--mark:#e6eefc;
    --mark-text:#123f8c}
    @media(prefers-color-scheme:dark){:root{--page:#121417;--card:#1a1d21;--text:#e5e8eb;--muted:#a0a9b3;
    --line:#32373d;
    --link:#7db5ff;--soft:#23272c;--passed:#5fc97f;--failed:#ff8a8a;--warn:#e3b454;--other:#c5a8f7;--none:#a0a9b3;
    --failed-soft:#2a1a1c;--failed-line:#63333a;--warn-soft:#292115;--warn-line:#594823;--mark:#1e3153;
    --mark-text:#bcd6ff}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
    sans-serif;
    overflow-wrap:anywhere}
    h1,h2,h3,h4,p,ul,ol,dl,dd,figure,pre{margin:0}
    a{color:var(--link)}
    code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
    :focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:4px}
    .hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
    .skip{position:absolute;left:-999px}.skip:focus{left:16px;top:8px;background:var(--card);padding:8px;z-index:1}
    .muted{color:var(--muted)}
    .wide,main,footer{max-width:1040px;margin:0 auto;padding:0 24px}
    header.page{background:var(--card);border-bottom:1px solid var(--line);border-top:4px solid var(--passed);
    padding:28px 0 20px}
    header.page.failed{border-top-color:var(--failed)}
    .product{color:var(--muted);font-weight:600;font-size:13px}
    h1{font-size:28px;line-height:1.25;letter-spacing:-.01em;font-weight:650;margin-top:2px}
    .failed>.wide>h1{color:var(--failed)}.passed>.wide>h1{color:var(--passed)}
    .facts{display:flex;flex-wrap:wrap;gap:2px 18px;color:var(--muted);font-size:13px;margin-top:8px}
    .bar{display:block;width:100%;height:8px;border-radius:4px;margin:20px 0 14px;background:var(--soft)}
    rect{fill:var(--none)}rect.passed{fill:var(--passed)}rect.failed,rect.unfinished{fill:var(--failed)}
    rect.pending{fill:var(--warn)}rect.undefined,rect.ambiguous{fill:var(--other)}
    .counts{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:4px 20px}
    .filters{display:flex;flex-wrap:wrap;gap:10px;align-items:center}
    .filters[hidden],.counts[hidden]{display:none}
    .find{display:flex;gap:6px;flex:1 1 300px}.filters [role=group]{display:flex;flex-wrap:wrap;gap:6px}
    button,input{font:inherit;font-size:14px;color:var(--text);background:var(--card);border:1px solid var(--line);
    border-radius:7px;padding:5px 12px;min-height:34px}
    button{cursor:pointer}button:hover{background:var(--soft)}
    button[aria-pressed=true]{background:var(--soft);border-color:currentColor;
    box-shadow:inset 0 0 0 1px currentColor}
    input{flex:1 1 200px;min-width:0}input::placeholder{color:var(--muted);opacity:1}
    #shown{font-size:13px;flex-basis:100%}#shown:empty{display:none}
    .passed>b,button.passed{color:var(--passed)}.failed>b,.unfinished>b,button.failed,
    button.unfinished{color:var(--failed)}
    .pending>b,.flaky>b,button.pending,button.flaky{color:var(--warn)}
    .undefined>b,.ambiguous>b,button.undefined,button.ambiguous{color:var(--other)}
    main{padding-top:8px;padding-bottom:24px}
    main>section,#features>section{margin-top:32px}
    h2{font-size:19px;line-height:1.35;font-weight:650;letter-spacing:-.005em}
    h3{font-size:15px;font-weight:600}h4{font-size:15px;font-weight:600}
    .rule{margin-top:18px}.rule>h3{font-size:16px;margin-bottom:2px}
    .keyword{color:var(--muted);font-weight:600}h2 .keyword,.rule>h3 .keyword{font-weight:450}
    .description{white-space:pre-line;color:var(--muted);margin:4px 0 0;max-width:72ch}
    .place{color:var(--muted);font-size:12px}
    .places{display:flex;flex-wrap:wrap;gap:0 16px;margin-top:6px}
    .failures{list-style:none;padding:0;margin-top:10px;background:var(--card);border:1px solid var(--line);
    border-radius:10px}
    .failures li{padding:12px 18px 12px 15px;border-left:3px solid var(--failed)}
    .failures li+li{border-top:1px solid var(--line)}
    .failures li:first-child{border-top-left-radius:10px}.failures li:last-child{border-bottom-left-radius:10px}
    .failures li.pending{border-left-color:var(--warn)}
    .failures li.undefined,.failures li.ambiguous{border-left-color:var(--other)}
    .failures a{font-weight:600}.failures .muted{margin-left:10px;font-size:13px}
    .failures .headline{margin-top:2px}.advice{color:var(--muted);font-size:14px}
    .snippet{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px;margin-top:10px}
    .snippet ul{margin-top:8px;padding-left:18px;font-size:14px}
    .code{background:var(--soft);border-radius:7px;padding:10px 14px;overflow-x:auto;margin-top:6px;
    white-space:pre-wrap}
    .scenario{background:var(--card);border:1px solid var(--line);border-radius:10px;margin-top:8px;
    content-visibility:auto;contain-intrinsic-size:auto 46px}
    .scenario[hidden],.feature[hidden],.rule[hidden]{display:none}
    summary{cursor:pointer;list-style:none}summary::-webkit-details-marker{display:none}
    .scenario>summary{display:flex;gap:10px;padding:10px 16px;align-items:baseline;border-radius:10px}
    .scenario>summary:hover{background:var(--soft)}
    .scenario>summary>.text{flex:1;min-width:0;display:flex;flex-wrap:wrap;gap:3px 10px;align-items:baseline}
    .sign{flex:none;width:16px;text-align:center;font-weight:700;color:var(--none)}
    .sign.passed{color:var(--passed)}.sign.failed,.sign.unfinished{color:var(--failed)}
    .sign.pending{color:var(--warn)}.sign.undefined,.sign.ambiguous{color:var(--other)}
    .time{flex:none;color:var(--muted);font-size:13px;font-variant-numeric:tabular-nums;white-space:nowrap}
    .tag{color:var(--muted);font-size:13px}.cell{font-size:13px;color:var(--muted)}.cell b{font-weight:500;
    color:var(--text)}
    .badge{font-size:12px;font-weight:600;border:1px solid currentColor;border-radius:20px;padding:0 8px;
    color:var(--none)}
    .badge.failed,.badge.unfinished{color:var(--failed)}.badge.pending,.badge.flaky{color:var(--warn)}
    .badge.undefined,.badge.ambiguous{color:var(--other)}
    .body{padding:4px 16px 16px 42px;scroll-margin-top:60px}
    .finding{background:var(--failed-soft);border:1px solid var(--failed-line);border-radius:8px;padding:12px 16px;
    margin:4px 0 12px}
    main>section>.finding{margin-top:10px}
    .finding.pending,.finding.undefined,.finding.ambiguous{background:var(--warn-soft);border-color:var(--warn-line)}
    .finding>*+*{margin-top:6px}.finding .headline,.finding h3{font-weight:600;color:var(--failed);font-size:15px}
    .finding.pending .headline,.finding.undefined .headline,.finding.ambiguous .headline{color:var(--warn)}
    .finding ul{padding-left:20px}.finding pre{white-space:pre-wrap}.finding .code{background:var(--card)}
    .steps{list-style:none;padding:0}
    .step{display:flex;gap:10px;padding:4px 0;align-items:baseline}
    .step>.text{flex:1;min-width:0}.step.skipped>.text>p:first-child{color:var(--muted)}
    .step.failed,.step.unfinished,.step.ambiguous,.step.undefined,.step.pending{background:var(--soft);
    border-radius:6px;
    margin:1px -8px;padding:4px 8px}
    .step .keyword{white-space:pre-wrap}
    mark{background:var(--mark);color:var(--mark-text);border-radius:4px;padding:0 3px}
    pre.error{color:var(--failed);white-space:pre-wrap;margin-top:4px}
    .step.pending pre.error{color:var(--warn)}.step.ambiguous pre.error{color:var(--other)}
    pre.doc,pre.log{background:var(--soft);border-radius:7px;padding:8px 12px;margin-top:6px;white-space:pre-wrap}
    pre.log{border-left:3px solid var(--line);border-radius:0}
    pre.doc{max-height:420px;overflow:auto}
    .scrolled{overflow-x:auto;margin-top:6px;max-width:100%}
    table{border-collapse:collapse;font-size:13px}
    caption{text-align:left;font-weight:600;padding-bottom:4px}
    th,td{text-align:left;vertical-align:top;padding:4px 14px 4px 0;border-bottom:1px solid var(--line)}
    th{color:var(--muted);font-weight:600;white-space:nowrap}
    .data td{border:1px solid var(--line);padding:3px 10px}.data tr:first-child td{background:var(--soft);
    font-weight:600}
    .requests{width:100%;overflow-wrap:normal}.requests .url{overflow-wrap:anywhere;min-width:200px;
    font-family:ui-monospace,monospace}
    tr.bad td{color:var(--failed);font-weight:600}
    .part{margin-top:10px}.part>summary{display:flex;flex-wrap:wrap;gap:0 8px;align-items:baseline;width:fit-content;
    font-size:14px;font-weight:600;padding:2px 0}
    .part>summary::before{content:"›";color:var(--muted);width:10px;font-weight:700}
    .part[open]>summary::before{transform:rotate(90deg)}
    .part>summary .muted{font-weight:400}
    .inner{padding-left:18px;border-left:2px solid var(--line);margin:4px 0 0 4px}
    .environment dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:14px;padding:4px 0}
    dt{color:var(--muted)}
    .list-title{font-weight:600;font-size:13px;margin-top:12px}.inner ul{padding-left:18px;font-size:14px}
    figure{margin-top:8px}img,video{max-width:100%;max-height:480px;border:1px solid var(--line);border-radius:7px}
    figcaption{color:var(--muted);font-size:13px}
    footer{padding-bottom:32px;font-size:13px}
    @media(max-width:600px){.wide,main,footer{padding-left:14px;padding-right:14px}h1{font-size:23px}
    .scenario>summary{padding:10px 12px}.body{padding:2px 12px 12px 12px}.finding{padding:10px 12px}
    .failures .muted{display:block;margin-left:0}.environment dl{grid-template-columns:1fr}dd{margin-bottom:4px}
    .inner{padding-left:10px}}
    @media print{.filters{display:none}.scenario{break-inside:avoid}}
    """

  static let script: StaticString = """
    (function () {
      var filters = document.getElementById('filters');
      if (!filters) return;
      var counts = document.getElementById('counts'), search = document.getElementById('search');
      var shown = document.getElementById('shown'), nothing = document.getElementById('nothing');
      var expand = document.getElementById('expand'), buttons = filters.querySelectorAll('[data-filter]');
      var all = Array.from(document.querySelectorAll('.scenario')), texts = null;
      filters.hidden = false;
      counts.hidden = true;

      function text(scenario) {
        var feature = scenario.closest('.feature').querySelector('h2');
        return (feature.textContent + ' ' + scenario.textContent).toLowerCase();
      }

      function apply() {
        var on = Array.from(buttons).filter(function (button) {
          return button.getAttribute('aria-pressed') === 'true';
        }).map(function (button) { return button.dataset.filter; });
        var words = search.value.toLowerCase().split(/\\s+/).filter(Boolean), count = 0;
        if (words.length && !texts) texts = all.map(text);
        all.forEach(function (scenario, index) {
          var isOn = !on.length || on.indexOf(scenario.dataset.status) >= 0 ||
            (on.indexOf('flaky') >= 0 && 'flaky' in scenario.dataset);
          var isFound = words.every(function (word) { return texts[index].indexOf(word) >= 0; });
          scenario.hidden = !isOn || !isFound;
          if (!scenario.hidden) count++;
        });
        document.querySelectorAll('.rule, .feature').forEach(function (group) {
          group.hidden = !group.querySelector('.scenario:not([hidden])');
        });
        nothing.hidden = count > 0;
        shown.textContent =
          on.length || words.length ? 'Showing ' + count + ' of ' + all.length + ' scenarios' : '';
      }

      buttons.forEach(function (button) {
        button.addEventListener('click', function () {
          button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') !== 'true'));
          apply();
        });
      });
      search.addEventListener('input', apply);
      expand.addEventListener('click', function () {
        var open = expand.textContent === 'Expand all';
        all.forEach(function (scenario) { if (!scenario.hidden) scenario.open = open; });
        expand.textContent = open ? 'Collapse all' : 'Expand all';
      });

      // The target of a link may be folded, or hidden by a filter.
      function reveal() {
        var target = document.getElementById(location.hash.slice(1));
        var details = target && target.closest('details');
        if (!details) return;
        for (var group = details; group; group = group.parentElement.closest('[hidden]')) group.hidden = false;
        details.open = true;
        details.scrollIntoView();
      }
      addEventListener('hashchange', reveal);
      reveal();
    })();
    """
}
