//! A chart with two axes and some series, as SVG.

use std::fs;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::Failure;

/// Pixels of a picture.
const SIZE: (u32, u32) = (960, 420);

/// What to draw.
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: (&'static str, Range<f64>),
    pub(crate) y: (&'static str, Range<f64>),
    pub(crate) series: Vec<Series>,
}

/// Points of one colour.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) colour: RGBColor,
    pub(crate) points: Vec<(f64, f64)>,
    /// Drawn as a line; otherwise as dots.
    pub(crate) is_line: bool,
}

impl Chart {
    /// Writes `NAME.svg`.
    pub(crate) fn write(&self, into: &Path, name: &str) -> Result<(), Failure> {
        let svg = into.join(name).with_extension("svg");
        let mut picture = String::new();
        self.draw(&SVGBackend::with_string(&mut picture, SIZE).into_drawing_area())?;
        // A page scales it with its `viewBox`.
        let size = format!(r#"width="{}" height="{}""#, SIZE.0, SIZE.1);
        fs::write(&svg, picture.replacen(&size, r#"width="100%""#, 1))?;
        println!("{}", svg.display());
        Ok(())
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), Failure>
    where
        B::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(self.x.1.clone(), self.y.1.clone())?;
        chart
            .configure_mesh()
            .x_desc(self.x.0)
            .y_desc(self.y.0)
            .light_line_style(WHITE)
            .draw()?;
        for series in &self.series {
            let colour = series.colour;
            let points = series.points.iter().copied();
            let drawn = if series.is_line {
                chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            } else {
                chart.draw_series(points.map(|point| Circle::new(point, 2, colour.filled())))?
            };
            drawn
                .label(series.name)
                .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 12, y + 4)], colour.filled()));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()?;
        Ok(())
    }
}
